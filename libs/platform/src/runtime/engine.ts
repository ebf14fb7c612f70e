import { Session } from 'node:inspector/promises';
import { setFlagsFromString } from 'node:v8';

/**
 * Sets V8 flags for a serving process. Node promises nothing about flags that are set at run time: call it before the
 * first command. Tried on Node 20 and 26, both of which have these flags; measured on Node 20 (docs/performance.md).
 * Without it everything works, and is slower:
 *
 * - Allocation-site pretenuring off: V8 promoted query rows straight to old space and kept them, with all that they
 *   refer to, until a full collection. It cost event consumers a third of their time.
 * - Old space may grow to three times its size between full collections: V8 starts one after 8 MiB of growth, dead
 *   buffers included, which came to a pause of 60 ms twice a second (p99 46 ms instead of 35).
 */
export function tuneEngine(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=200');
}

/**
 * `share`: of a core, below which a process is idle for the time of `lookMs`. `looks`: from one collection to the next at
 * least, for what hovers around that share.
 */
const idle = { lookMs: 5_000, share: 0.05, looks: 12 } as const;

/**
 * Gives memory back once a process has become idle, after its start and after each time of work: V8 keeps the young
 * generation at the size that work has needed, and garbage until as much again was allocated. It takes 50 to 100 ms.
 */
export function collectWhenIdle(): void {
  let hasWorked = true;
  let looks: number = idle.looks;
  let before = process.cpuUsage();
  const look = async () => {
    const { user, system } = process.cpuUsage(before);
    const works = (user + system) / 1000 >= idle.share * idle.lookMs;
    hasWorked ||= works;
    looks++;
    if (hasWorked && !works && looks > idle.looks) {
      await collectGarbage();
      hasWorked = false;
      looks = 0;
    }
    before = process.cpuUsage();
  };
  setInterval(() => void look(), idle.lookMs).unref();
}

/** Collects all garbage, and gives its pages back to the system. */
async function collectGarbage(): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
}
