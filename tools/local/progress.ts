/** Progress of a command: a line per step with its seconds, and a sign of life for long steps. */
export type Say = (line: string) => void;

export const say: Say = line => {
  process.stdout.write(`${line}\n`);
};

/** Progress on stderr, for commands whose stdout is read by a program. */
export const sayOnStderr: Say = line => {
  process.stderr.write(`${line}\n`);
};

export function inSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

const signs = { firstAfterMs: 2_000, thenEveryMs: 15_000 } as const;

/** Runs `work` and says so: at once after two seconds, every 15 seconds from then on, and when it is done. */
export async function step<T>(tell: Say, title: string, work: () => Promise<T>): Promise<T> {
  const since = Date.now();
  let slow = false;
  const timer = setInterval(() => {
    const elapsed = Date.now() - since;
    if (!slow) tell(`  · ${title} …`);
    else if (elapsed % signs.thenEveryMs < signs.firstAfterMs) tell(`  · ${title}, ${Math.round(elapsed / 1000)} s …`);
    slow = true;
  }, signs.firstAfterMs);
  try {
    const result = await work();
    tell(`  ✓ ${title} (${inSeconds(Date.now() - since)})`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
