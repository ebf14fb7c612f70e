import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkoutRoot } from '../local/home.js';

/** A fenced block of a page. */
interface Block {
  /** Line of the page on which it begins. */
  line: number;
  text: string;
}

/** Steps of a reader, in order: shell commands to run with what they print, and files to write. */
export type Step =
  | (Block & {
      kind: 'run' /** As printed below the commands; undefined where the page shows none. */;
      prints?: string;
    })
  | (Block & { kind: 'file'; name: string });

const fence = /^( *)```(\w*)\n([\s\S]*?)^ *```$/gm;

/**
 * Steps of a page in markdown. A block of `sh` is run; a block without a language, or of `json`, shows what the one before it
 * prints; any other block begins with a comment that is a file's name, and is that file. Throws Error at a block that is none.
 */
export function stepsOf(page: string): Step[] {
  const steps: Step[] = [];
  for (const { 1: indent = '', 2: language = '', 3: body = '', index } of page.matchAll(fence)) {
    const line = page.slice(0, index).split('\n').length;
    const text = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const name = /^\/\/ (\S+\.\w+)$/m.exec(text.split('\n', 1)[0] ?? '')?.[1];
    const last = steps.at(-1);
    if (language === 'sh') steps.push({ kind: 'run', line, text });
    else if (name !== undefined) steps.push({ kind: 'file', line, text, name });
    else if (['', 'json'].includes(language) && last?.kind === 'run' && last.prints === undefined) last.prints = text;
    else throw new Error(`line ${line}: no reader knows what to do with this block`);
  }
  return steps;
}

/** The outcome of a step that runs commands. */
export interface Seen {
  line: number;
  said: string;
  prints?: string;
}

const mark = '\u001e';

/**
 * Does what a page says in one shell, in a folder of its own that has the checkout's packages, commands and guides, and whose
 * `.local/stack.json` is `facts`, which are in the environment too. Throws Error with the line and the output of the block that fails.
 */
export async function follow(page: string, facts: { baseUrl: string; apiKey: string }): Promise<Seen[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'recur-guide-'));
  try {
    for (const name of ['node_modules', 'docs', 'tools', 'package.json'])
      symlinkSync(path.join(checkoutRoot(), name), path.join(folder, name));
    mkdirSync(path.join(folder, '.local'));
    writeFileSync(path.join(folder, '.local/stack.json'), JSON.stringify(facts));
    const steps = stepsOf(page);
    const script = steps.map(step => `printf '${mark}'\n${commandsOf(step, folder)}`).join('\n');
    const { PATH, HOME } = process.env;
    const { code, said } = await ran(script, folder, { PATH, HOME, BASE: facts.baseUrl, KEY: facts.apiKey });
    const parts = said.split(mark).slice(1);
    if (code !== 0) throw new Error(`line ${steps[parts.length - 1]?.line}: exit code ${code}\n${parts.at(-1)}`);
    return steps.flatMap((step, at) => (step.kind === 'run' ? [{ ...step, said: parts[at] ?? '' }] : []));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function commandsOf(step: Step, folder: string): string {
  if (step.kind === 'run') return step.text;
  const kept = path.join(folder, '.local', `block-${step.line}`);
  writeFileSync(kept, step.text);
  return `cp '${kept}' '${step.name}'`;
}

/** Runs a script in bash; what it has left running ends with it. */
async function ran(
  script: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; said: string }> {
  const shell: ChildProcess = spawn('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd, env, detached: true });
  let said = '';
  for (const stream of [shell.stdout, shell.stderr]) stream?.on('data', chunk => (said += chunk));
  const closed = once(shell, 'close');
  const [code] = await once(shell, 'exit');
  try {
    process.kill(-(shell.pid as number), 'SIGTERM');
  } catch {
    // the group ended with its shell
  }
  await closed;
  return { code, said };
}

/** A text without what differs from one stack and day to the next: ids, times, numbers of documents, addresses. */
export const shapeOf = (text: string): string =>
  text
    .replaceAll(/[ \t]+$/gm, '')
    .trim()
    // the hour of a day, since what comes first takes moments
    .replaceAll(/\d{4}-(\d\d-\d\d)[T ](\d\d):\d\d/g, '<year>-$1 $2h')
    .replaceAll(/\b(in|pay|req|sub|ev|cn)_?[0-9a-z]{20,}/g, '<$1 id>')
    // the suffix of codes and e-mails is a time too
    .replaceAll(/\b\d{10}\b/g, '<time>')
    .replaceAll(/\b(INV|CN)-\d+/g, '<$1 number>')
    .replaceAll(/https?:\/\/(127\.0\.0\.1|localhost):\d+/g, '<base>')
    .replaceAll(/"merchantId":\d+/g, '"merchantId":<id>');
