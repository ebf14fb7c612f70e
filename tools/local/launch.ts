import path from 'node:path';
import { isWhole, readFacts, type StackFacts } from './facts.js';
import { Failure } from './failure.js';
import { type Home, openHome } from './home.js';
import { inSeconds, say } from './progress.js';
import { becomeLauncher, resignAsLauncher } from './record.js';

const secondThoughtsMs = 1_000;

/** Time that tools/run.mjs spent before a command began. */
export interface Launch {
  startedAt: number;
  installSeconds: number;
}

/**
 * Opens the home of this checkout for a command that starts its stack, and makes this process its launcher.
 * @returns undefined, after saying so, when the stack is running already.
 */
export function claimHome(): Home | undefined {
  const home = openHome();
  const claim = becomeLauncher(home);
  const { other } = claim;
  const facts = readFacts(home);
  if (other !== undefined && facts === undefined) {
    throw new Failure(
      `process ${other.pid} is starting or stopping the stack of this checkout: wait for it, or stop it with "npm run down".`,
    );
  }
  // Parts whose launcher was killed are leftovers, even when all of them live: the start will stop them.
  const detached = claim.other === undefined && !claim.afterDeath && isWhole(home);
  if (facts === undefined || (other === undefined && !detached)) return home;
  if (other === undefined) resignAsLauncher(home);
  const ended = other === undefined ? 'npm run down' : 'Ctrl-C where it was started, or npm run down';
  say(`The stack of this checkout is running already at ${facts.baseUrl}`);
  say(`  its API key and ports are in ${relative(path.join(home.state, 'stack.json'))}; to stop it: ${ended}`);
  return undefined;
}

/**
 * Says that the stack is being stopped, and calls `stop`. npm passes on the Ctrl-C that the terminal sends to all of us,
 * so only one that comes later is a second one, which ends this process at once.
 */
export function onInterrupt(stop: () => void): void {
  let since = 0;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (since === 0) {
        since = Date.now();
        say('\nStopping; the data stay. (Ctrl-C again kills.)');
        stop();
      } else if (Date.now() - since > secondThoughtsMs) process.exit(130);
    });
  }
}

/** The last thing a start prints: where everything is, and what to try first. */
export function announce(home: Home, facts: StackFacts, launch: Launch, stopping: string): void {
  const total = inSeconds(Date.now() - launch.startedAt - launch.installSeconds * 1000);
  const downloads =
    launch.installSeconds === 0 ? '' : `, plus ${launch.installSeconds.toFixed(1)} s to download and install`;
  say(`
Ready in ${total}${downloads}.

  Base URL   ${facts.baseUrl}
  API key    ${facts.apiKey}
  Docs       ${facts.baseUrl}/docs
  Details    ${relative(path.join(home.state, 'stack.json'))} (ports, databases, process ids), logs in ${relative(home.logs)}

Try it:

  curl ${facts.baseUrl}/merchant/webhook/event_list -H 'Authorization: Bearer ${facts.apiKey}'

${stopping}`);
}

function relative(file: string): string {
  const fromHere = path.relative(process.cwd(), file);
  return fromHere.startsWith('..') ? file : fromHere;
}
