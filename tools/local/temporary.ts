import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStack, type Stack } from './control.js';
import { eraseHome, type Home, openHome } from './home.js';
import type { Say } from './progress.js';
import { type StackOptions, startStack, stopStack } from './stack.js';

/** A whole stack of this checkout's apps in a folder of its own: for tests and measurements, which leave nothing. */
export interface TemporaryStack extends Stack {
  /** Stops everything and starts it again on the same data. */
  again(): Promise<void>;
  close(): Promise<void>;
}

export async function temporaryStack(tell: Say, env: StackOptions['env'] = {}): Promise<TemporaryStack> {
  const home = withProgramsOf(openHome(), openHome(mkdtempSync(path.join(tmpdir(), 'recur-stack-'))));
  const close = async () => {
    await stopStack(home);
    eraseHome(home);
    rmSync(home.state, { recursive: true, force: true });
  };
  const interrupted = () => void close().then(() => process.exit(130));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, interrupted);
  try {
    await startStack(home, { tell, env });
    return {
      ...openStack(home.state),
      home,
      again: async () => {
        await stopStack(home);
        await startStack(home, { tell, env });
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What was fetched for the checkout is used, and what is fetched now is kept for the next time. */
export function withProgramsOf(checkout: Home, home: Home): Home {
  return { ...home, programs: checkout.programs, programsOutside: checkout.programsOutside };
}
