import { takesNoArguments } from './failure.js';
import { announce, claimHome, type Launch, onInterrupt } from './launch.js';
import type { Running } from './processes.js';
import { say } from './progress.js';
import { resignAsLauncher } from './record.js';
import type { PartName } from './settings.js';
import { startStack, stopStack } from './stack.js';

/** `npm start`: the stack in the foreground, until Ctrl-C. Its data stay for the next time. */
export async function run(args: readonly string[], launch: Launch): Promise<number> {
  takesNoArguments('npm start', args);
  const home = claimHome();
  if (home === undefined) return 0;
  const interrupted = new AbortController();
  const parts = new Map<PartName, Running>();
  const stopped = new Promise<void>((resolve, reject) => {
    onInterrupt(() => {
      interrupted.abort();
      stopStack(home).then(() => resolve(), reject);
    });
  });
  try {
    const onStart = (name: PartName, running: Running) => parts.set(name, running);
    const facts = await startStack(home, { tell: say, port: process.env.PORT, onStart, signal: interrupted.signal });
    announce(home, facts, launch, 'Ctrl-C stops everything and keeps the data; "npm run reset" erases them.');
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    await stopped;
    return 130;
  } finally {
    if (interrupted.signal.aborted) resignAsLauncher(home);
  }
  tellDeaths(parts, interrupted.signal);
  await keepAliveUntil(stopped);
  resignAsLauncher(home);
  say('Stopped.');
  return 0;
}

/** A part that ends by itself is told and left so: whoever ended it may want to see what the others do. */
function tellDeaths(parts: Map<PartName, Running>, interrupted: AbortSignal): void {
  for (const [name, { ended }] of parts) {
    void ended.then(how => {
      if (!interrupted.aborted)
        say(`${name} ended (${how}); its log is .local/logs/${name}.log. Ctrl-C and "npm start" bring it back.`);
    });
  }
}

/** Keeps this process running, which the parts are not tied to, until `end`. */
async function keepAliveUntil(end: Promise<void>): Promise<void> {
  const timer = setInterval(() => undefined, 3_600_000);
  await end;
  clearInterval(timer);
}
