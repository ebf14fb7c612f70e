import { takesNoArguments } from './failure.js';
import { type Home, openHome } from './home.js';
import { signal } from './identity.js';
import { endsWithin } from './processes.js';
import { inSeconds, say } from './progress.js';
import { launcher } from './record.js';
import { stopStack } from './stack.js';

const launcherEndsWithinMs = 90_000;

/** `npm run down`: stops the stack of this checkout, however it was started; the data stay. */
export async function run(args: readonly string[]): Promise<number> {
  takesNoArguments('npm run down', args);
  const since = Date.now();
  const stopped = await stopEverything(openHome());
  say(
    stopped
      ? `Stopped (${inSeconds(Date.now() - since)}); the data stay. "npm run reset" erases them.`
      : 'Nothing was running.',
  );
  return 0;
}

/** Ends the launcher first, which would only report that its parts end. Returns whether anything ran. */
export async function stopEverything(home: Home): Promise<boolean> {
  const foreground = launcher(home);
  if (foreground !== undefined && signal(foreground, 'SIGTERM')) await endsWithin(foreground, launcherEndsWithinMs);
  const stopped = await stopStack(home);
  return foreground !== undefined || stopped.length > 0;
}
