import { Failure, takesNoArguments } from './failure.js';
import { type Home, openHome } from './home.js';
import { signal } from './identity.js';
import { endsWithin } from './processes.js';
import { inSeconds, say } from './progress.js';
import { launcher } from './record.js';
import { stopStack } from './stack.js';
import { strays } from './strays.js';

const launcherEndsWithinMs = 90_000;

/** `npm run down`: stops the stack of this checkout, however its parts were started; keeps the data. */
export async function run(args: readonly string[]): Promise<number> {
  takesNoArguments('npm run down', args);
  const since = Date.now();
  const home = openHome();
  const stopped = await stopEverything(home);
  const [again] = strays(home);
  if (again !== undefined) {
    throw new Failure(
      `${again.name} was started again as process ${again.identity.pid}: stop what restarts it, then run this again.`,
    );
  }
  say(
    stopped
      ? `Stopped (${inSeconds(Date.now() - since)}); the data stay. "npm run reset" erases them.`
      : 'Nothing was running.',
  );
  return 0;
}

/** Stops everything, the launcher first: it would report that its parts end. Returns false when nothing ran. */
export async function stopEverything(home: Home): Promise<boolean> {
  const foreground = launcher(home);
  if (foreground !== undefined && signal(foreground, 'SIGTERM')) await endsWithin(foreground, launcherEndsWithinMs);
  const stopped = await stopStack(home);
  return foreground !== undefined || stopped.length > 0;
}
