import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { checkoutRoot } from '../local/home.js';

const root = checkoutRoot();
const scripts: string[] = Object.keys(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).scripts);

/** A stack of its own, so that the one of the checkout is left alone. */
let state: string;
beforeAll(() => {
  state = mkdtempSync(path.join(tmpdir(), 'recur-commands-'));
});
afterAll(async () => {
  await told('down');
  rmSync(state, { recursive: true, force: true });
});

function started(name: string, ...args: string[]): ChildProcess & { said: string } {
  const env = { ...process.env, RECUR_STATE: state, PORT: '' };
  const child = spawn(process.execPath, [path.join(root, 'tools/run.mjs'), name, ...args], { cwd: root, env });
  const heard = Object.assign(child, { said: '' });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (heard.said += chunk));
  return heard;
}

/** Runs a command to its end: its exit code, and all that it said. */
async function told(name: string, ...args: string[]) {
  const child = started(name, ...args);
  const [code] = await once(child, 'close');
  return { code, said: child.said };
}

/** Waits until a command that goes on says something that fits. Throws when it ends before. */
function says(child: ReturnType<typeof started>, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = pattern.exec(child.said);
      if (found) resolve(found);
    };
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', look);
    child.once('close', () => reject(new Error(`it ended: ${child.said}`)));
  });
}

/** A line without what differs from one machine and day to the next: durations, ports, keys, folders. */
const shapeOf = (line: string) =>
  line
    .replaceAll(state, '.local')
    .replaceAll(/\d+(\.\d+)?/g, '0')
    .replaceAll(/eyJ[\w.…-]+/g, 'eyJ')
    .trim();

/** Lines that the README shows of `npm start`, without the command and what is done on a first start alone. */
function shownOfStart(): string[] {
  const block = /^\$ npm start\n([\s\S]*?)^```/m.exec(readFileSync(path.join(root, 'README.md'), 'utf8'))?.[1] ?? '';
  return block.split('\n').filter(line => !/install|built|building/.test(line) && line !== '');
}

it('a stack is started, used, looked at, stopped and erased by commands', async () => {
  const up = await told('up');
  expect(up).toMatchObject({ code: 0, said: expect.stringContaining('Ready in') });
  expect(await told('demo')).toMatchObject({ code: 0, said: expect.stringContaining('Done.') });
  expect(await told('merchant', 'keys', 'list', '--merchant', '1')).toMatchObject({ code: 0 });
  expect(await told('log', 'verify')).toMatchObject({ code: 0 });

  const mails = started('mails');
  const [, url = ''] = await says(mails, /(http:\/\/127\.0\.0\.1:\d+)/);
  // the page of the demo's e-mails, which are sent after its end
  for (let page = ''; !page.includes('.eml"'); ) page = await (await fetch(url)).text();
  mails.kill('SIGINT');
  expect(await once(mails, 'close')).toEqual([0, null]);

  expect(await told('down')).toMatchObject({ code: 0, said: expect.stringContaining('the data stay') });
  const running = started('start');
  await says(running, /Ctrl-C/);
  const said = [up.said, running.said].flatMap(text => text.split('\n').map(shapeOf));
  expect(shownOfStart().length).toBeGreaterThan(12);
  expect(shownOfStart().filter(line => !said.includes(shapeOf(line)))).toEqual([]);
  running.kill('SIGINT');
  expect(await once(running, 'close')).toEqual([0, null]);

  expect(existsSync(path.join(state, 'mail'))).toBe(true);
  expect(await told('reset')).toMatchObject({ code: 0, said: expect.stringContaining('rased the local data') });
  for (const kept of ['postgres', 'mail', 'settings.json'])
    expect([kept, existsSync(path.join(state, kept))]).toEqual([kept, false]);
});

/** Commands that take long, with words that they refuse. */
const long: [string, string[], RegExp][] = [
  ['bench', ['--only', 'nothing'], /nothing/],
  ['chaos', ['--seconds', 'none'], /Usage|usage|seconds/],
  ['import', ['elsewhere', 'folder'], /the command is npm run import -- stripe <folder>/],
  ['simulate', [], /takes a scenario/],
  ['migration', [], /Usage|usage|service/],
  ['charts', ['now'], /takes no arguments/],
  ['stripe-test', ['now'], /takes no arguments/],
  ['api-test', ['now'], /takes no arguments/],
  ['deploy-test', ['now'], /takes no arguments/],
  ['upgrade-test', ['--rounds', 'none'], /rounds|Usage|usage/],
  ['test', ['--repeat', 'none'], /--repeat must be a number/],
];

it.each(long)('%s, which takes long, is there, and refuses what it does not know', async (name, args, sentence) => {
  const { code, said } = await told(name, ...args);
  expect(code).not.toBe(0);
  expect(said).toMatch(sentence);
  expect(said).not.toMatch(/^ {4}at /m);
});

it('every command of package.json is run by a test', () => {
  const walked = ['up', 'demo', 'merchant', 'log', 'mails', 'down', 'start', 'reset'];
  // these are a compiler's, the linter's and turbo's own, which a whole test run calls
  const others = ['build', 'typecheck', 'lint', 'format'];
  expect([...walked, ...long.map(([name]) => name), ...others].sort()).toEqual([...scripts].sort());
});
