import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Failure } from '../local/failure.js';
import { checkoutRoot } from '../local/home.js';
import { type Say, step } from '../local/progress.js';

/** The version that an upgrade is tried from while no version is tagged. */
const firstVersion = 'd10dfb8063d519fdfbe3018d60f7a1919e5ec2ac';

const limits = { commandMs: 900_000 } as const;

/** The commit to upgrade from: the given one, else that of the last tag before this one. @throws Failure where it is not known. */
export function previousVersion(wanted?: string): string {
  const name = wanted ?? tagBefore() ?? firstVersion;
  const { status, stdout } = git('rev-parse', '--verify', '--quiet', `${name}^{commit}`);
  if (status === 0) return stdout.trim();
  throw new Failure(`there is no commit ${name} in this clone: name another one with "-- --from <commit>".`, 64);
}

function tagBefore(): string | undefined {
  const { status, stdout } = git('describe', '--tags', '--abbrev=0', 'HEAD^');
  return status === 0 ? stdout.trim() : undefined;
}

/** A built checkout of a commit, in the system's temporary folder, where the next run finds it again. */
export async function builtCheckout(commit: string, tell: Say): Promise<string> {
  const folder = path.join(tmpdir(), `recur-previous-${commit.slice(0, 12)}`);
  const built = path.join(folder, '.built');
  if (existsSync(built)) return folder;
  await step(tell, `${commit.slice(0, 12)} checked out, installed and built`, async () => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: 0o700 });
    shell(folder, `git -C "$CHECKOUT" archive ${commit} | tar -x`);
    shell(folder, 'npm install --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error');
    shell(folder, 'node_modules/.bin/turbo run build --filter="./apps/*" --output-logs=errors-only --ui=stream');
    writeFileSync(built, '');
  });
  return folder;
}

const git = (...words: string[]) => spawnSync('git', words, { cwd: checkoutRoot(), encoding: 'utf8' });

function shell(cwd: string, command: string): void {
  const env = { ...process.env, CHECKOUT: checkoutRoot(), TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' };
  const options = { cwd, env, encoding: 'utf8', timeout: limits.commandMs, maxBuffer: 1 << 26 } as const;
  const { status, stdout, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', command], options);
  if (status !== 0) throw new Failure(`"${command}" failed in ${cwd}: ${(stdout + stderr).slice(-2_000)}`);
}
