import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Client, createClient, orThrow } from '@recur/client';
import { quantile } from '../bench/load.js';
import { say } from '../local/progress.js';
import { type TemporaryStack, temporaryStack } from '../local/temporary.js';
import { type Flood, floods, idleFlood, newDocuments } from './floods.js';

/**
 * A healthy caller asks every `everyMs`; a member signs in every `signInMs`, which the limits for one e-mail permit. A
 * flood is a finding where another merchant's p99 is more than `slower` times that of the same run without one, or with
 * one that asks nothing: the attacker shares the machine's processors with recur. Below `floorMs` either is noise.
 */
const limits = { everyMs: 100, documentMs: 500, signInMs: 10_000, quietMs: 10_000, slower: 2, floorMs: 25 } as const;

/** Answers and times of healthy callers while something went on. */
interface Seen {
  calls: number;
  failed: string[];
  p50: number;
  p99: number;
  signIns: number;
  signedIn: number;
  /** Times of the merchant's own PDFs. */
  documents: { fetched: number; failed: string[]; p99: number };
}

interface Member {
  email: string;
  password: string;
}

/**
 * `npm run chaos -- --attack [--seconds N]`: floods a stack of its own in one way after the other, by default a minute
 * each, with the limits that a deployment has, and prints what healthy callers saw meanwhile: another merchant, and a
 * member who signs in with the right password. Returns 1 where one of them was refused or kept waiting. Linux only, since
 * the attacker has an address of its own (127.0.0.2).
 */
export async function attack(seconds: number): Promise<number> {
  const stack = await temporaryStack(say);
  try {
    const { baseUrl } = stack.facts();
    const healthy = await stack.merchant('Healthy');
    const attacker = await stack.merchant('Attacker');
    // a call that is refused counts, also where another attempt would not be
    const api = createClient({ baseUrl, credential: healthy.apiKey, attempts: 1 });
    const roleId = await newRole(api);
    const [document = ''] = await newDocuments(api, ['Seat'], 1);
    const findings: string[] = [];
    let quietMs: number | undefined;
    let quietDocumentMs: number | undefined;
    let baseMs: number = limits.floorMs;
    const report = (name: string, seen: Seen, attempts: Record<string, number>) => {
      const outcomes = Object.entries(attempts).map(([outcome, count]) => `${outcome} ×${count}`);
      const memory = `the gateway holds ${memoryOf(stack)} MiB`;
      say(`  · ${name}: ${outcomes.join(', ') || 'nothing'}; ${memory}`);
      say(
        `      another merchant: ${seen.calls - seen.failed.length} of ${seen.calls} calls, p50 ${seen.p50.toFixed(1)} ms,` +
          ` p99 ${seen.p99.toFixed(1)} ms${quietMs ? ` (${ratio(seen.p99, quietMs)} of quiet)` : ''};` +
          ` right passwords: ${seen.signedIn} of ${seen.signIns}`,
      );
      const { fetched, failed, p99 } = seen.documents;
      const times = quietDocumentMs ? ` (${ratio(p99, quietDocumentMs)} of quiet)` : '';
      say(`      its PDFs: ${fetched - failed.length} of ${fetched}, p99 ${p99.toFixed(1)} ms${times}`);
      quietDocumentMs ??= p99;
      findings.push(...failed.map(status => `${name}: a PDF of another merchant was answered ${status}`));
      findings.push(...seen.failed.map(answer => `${name}: another merchant was answered ${answer}`));
      if (quietMs === undefined || name === idleFlood) baseMs = Math.max(baseMs, seen.p99);
      quietMs ??= seen.p99;
      if (seen.p99 > limits.slower * baseMs) {
        findings.push(`${name}: another merchant's p99 was ${ratio(seen.p99, baseMs)} what an idle flood makes it`);
      }
      if (seen.signedIn < seen.signIns) findings.push(`${name}: a right password was refused`);
    };
    // the first calls of each kind compile what they run, and are no measure
    const healthyOnes = async () => ({ api, member: await newMember(api, roleId), document });
    await watch(await healthyOnes(), limits.quietMs / 2);
    report('quiet', await watch(await healthyOnes(), limits.quietMs), {});
    for (const [name, flood] of Object.entries(floods)) {
      const watched = await healthyOnes();
      const { attempts, seen } = await during(flood, { baseUrl, apiKey: attacker.apiKey }, seconds, () =>
        watch(watched, seconds * 1_000),
      );
      report(name, seen, attempts);
    }
    for (const finding of [...new Set(findings)].slice(0, 20)) say(`  ✗ ${finding}`);
    say(findings.length === 0 ? 'no healthy caller was refused or kept waiting' : `${findings.length} findings`);
    return findings.length === 0 ? 0 : 1;
  } finally {
    await stack.close();
  }
}

/** Runs a flood while healthy callers are watched, and ends it with them. */
async function during(flood: Flood, target: Parameters<Flood>[0], seconds: number, watched: () => Promise<Seen>) {
  const attempts: Record<string, number> = {};
  const ending = new AbortController();
  const flooding = flood(target, ending.signal, outcome => {
    attempts[outcome] = (attempts[outcome] ?? 0) + 1;
  });
  const seen = await watched();
  ending.abort(`after ${seconds} s`);
  await flooding;
  return { attempts, seen };
}

/** A call into each service that a merchant calls all day: of each service, the thread may be held up by itself. */
const asks: readonly ((api: Client) => Promise<{ ok: true } | { ok: false; error: { type: string } }>)[] = [
  api => api.post('/merchant/product/list', {}),
  api => api.post('/merchant/user/new', { email: `${randomUUID()}@example.com` }),
  api => api.post('/merchant/invoice/list', {}),
  api => api.post('/merchant/webhook/endpoint_list', {}),
];

interface Healthy {
  api: Client;
  member: Member;
  /** The link to a PDF of the merchant. */
  document: string;
}

async function watch({ api, member, document }: Healthy, forMs: number): Promise<Seen> {
  const end = Date.now() + forMs;
  const latencies: number[] = [];
  const failed: string[] = [];
  const calls = async () => {
    for (let at = 0; Date.now() < end; at++) {
      const since = performance.now();
      const result = await asks[at % asks.length]?.(api);
      latencies.push(performance.now() - since);
      if (result && !result.ok) failed.push(result.error.type);
      await pause(limits.everyMs);
    }
  };
  let [signIns, signedIn] = [0, 0];
  const signing = async () => {
    while (Date.now() < end) {
      signIns++;
      if ((await api.post('/merchant/auth/sso/login', member)).ok) signedIn++;
      await pause(Math.min(limits.signInMs, Math.max(0, end - Date.now())));
    }
  };
  const documents = { fetched: 0, failed: [] as string[], p99: 0 };
  const documentMs: number[] = [];
  const fetching = async () => {
    while (Date.now() < end) {
      const since = performance.now();
      const answer = await fetch(document);
      await answer.arrayBuffer();
      documentMs.push(performance.now() - since);
      documents.fetched++;
      if (!answer.ok) documents.failed.push(String(answer.status));
      await pause(limits.documentMs);
    }
  };
  await Promise.all([calls(), signing(), fetching()]);
  documents.p99 = quantile(
    documentMs.sort((one, other) => one - other),
    0.99,
  );
  latencies.sort((one, other) => one - other);
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
  return { calls: latencies.length, failed, p50, p99, signIns, signedIn, documents };
}

async function newRole(api: Client): Promise<number> {
  const permissions = [{ group: 'user' as const, permissions: ['read' as const] }];
  return orThrow(await api.post('/merchant/role/new', { role: 'Support', permissions })).merchantRole.id;
}

async function newMember(api: Client, roleId: number): Promise<Member> {
  const [email, password] = [`${randomUUID()}@example.com`, randomUUID()];
  const invitation = { email, roleIds: [roleId] };
  const { setupToken } = orThrow(await api.post('/merchant/member/new_member', invitation));
  orThrow(await api.post('/merchant/auth/sso/passwordSetup', { email, setupToken, newPassword: password }));
  return { email, password };
}

/** Resident memory of the gateway in MiB. */
function memoryOf(stack: TemporaryStack): number {
  const status = readFileSync(`/proc/${stack.facts().pids.gateway}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024);
}

const ratio = (ms: number, quietMs: number) => `${(ms / quietMs).toFixed(1)} times`;
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));
