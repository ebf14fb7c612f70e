import { takesNoArguments } from './failure.js';
import { announce, claimHome, type Launch, onInterrupt } from './launch.js';
import { say } from './progress.js';
import { resignAsLauncher } from './record.js';
import { startStack, stopStack } from './stack.js';

/** `npm run up`: starts the stack, leaves it running and returns when it is ready. */
export async function run(args: readonly string[], launch: Launch): Promise<number> {
  takesNoArguments('npm run up', args);
  const home = claimHome();
  if (home === undefined) return 0;
  const interrupted = new AbortController();
  onInterrupt(() => {
    interrupted.abort();
    void stopStack(home);
  });
  try {
    const facts = await startStack(home, { tell: say, port: process.env.PORT, signal: interrupted.signal });
    announce(home, facts, launch, '"npm run down" stops everything and keeps the data; "npm run reset" erases them.');
    return 0;
  } catch (error) {
    if (interrupted.signal.aborted) return 130;
    throw error;
  } finally {
    resignAsLauncher(home);
  }
}
