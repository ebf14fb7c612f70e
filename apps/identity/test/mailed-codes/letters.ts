import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  confirmTotpKey,
  loginWithCode,
  requestLoginCode,
  requestPasswordCode,
  setPasswordWithCode,
  totpKey,
} from '@recur/contracts';
import type { TestCaller } from '@recur/platform/testing';
import { generateSync } from 'otplib';
import { type Merchant, makePortal } from '../portal.js';

export const password = 'correct horse';
export const invalid = { ok: false, slug: 'credential_invalid', issues: [] };

/** A portal whose e-mails are written to a folder, with the requests of codes. */
export async function makeLetters(env: Record<string, string> = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'recur-codes-'));
  const p = await makePortal({ MAIL_FOLDER: path.join(folder, 'mails'), MAIL_FROM: 'Acme <in@acme.example>', ...env });
  const { t } = p;
  const anonymous = { merchantId: 0 } as const;
  const read = new Set<string>();
  /** The e-mails since the last time this was asked. */
  const news = (): string[] => {
    const inside = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.eml'));
    const fresh = inside.filter(name => !read.has(name));
    for (const name of fresh) read.add(name);
    return fresh.map(name => readFileSync(path.join(folder, name), 'utf8').replaceAll('=\r\n', ''));
  };
  const codeIn = (mail = ''): string => /is:\s+(\d{8})\s/.exec(mail)?.[1] ?? '';
  const request = async (operation: typeof requestLoginCode | typeof requestPasswordCode, email: string) => {
    const answer = await p.call(operation, { email }, anonymous);
    await t.work.drain();
    return answer;
  };
  /** Requests a code and reads it in the one e-mail that comes. */
  const codeFor = async (operation: typeof requestLoginCode | typeof requestPasswordCode, email: string) => {
    news();
    await request(operation, email);
    const mails = news();
    if (mails.length !== 1) throw new Error(`${mails.length} e-mails came`);
    return codeIn(mails[0]);
  };

  return {
    p,
    folder,
    anonymous,
    news,
    codeIn,
    request,
    loginCode: (email: string) => codeFor(requestLoginCode, email),
    passwordCode: (email: string) => codeFor(requestPasswordCode, email),
    login: (
      input: { email: string; verificationCode: string; totpCode?: string; merchantId?: number },
      as: TestCaller = {},
    ) => p.call(loginWithCode, input, { ...anonymous, ...as }),
    setPassword: (
      input: { email: string; verificationCode: string; newPassword: string; merchantId?: number },
      as: TestCaller = {},
    ) => p.call(setPasswordWithCode, input, { ...anonymous, ...as }),
    /** A member who signs in with a password. */
    async member({ merchantId }: Merchant, email = `member-${randomUUID()}@example.com`) {
      const member = await p.invited(merchantId, email);
      const done = await p.setPassword({ email, setupToken: member.setupToken, newPassword: password, merchantId });
      if (!done.ok) throw new Error(JSON.stringify(done));
      return member;
    },
    /** Turns two-factor codes on; returns what makes the code of now. */
    async withTotp(member: Merchant) {
      const key = await t.done(totpKey, { totpType: 1 }, p.as(member));
      const secret = key.totpKey;
      const codeOf = () => generateSync({ secret, epoch: p.clock.now() });
      await t.done(confirmTotpKey, { totpCode: codeOf() }, p.as(member));
      p.clock.advance(30);
      return { codeOf };
    },
    /** The rest of the tries of the code for an e-mail. */
    async triesLeft(email: string) {
      const [row] = await t.rows('select tries_left from mailed_codes where email = $1', [email]);
      return row?.tries_left;
    },
    logged: async () =>
      (await t.emitted())
        .filter(({ type }) => type === 'operation.logged')
        .map(({ data }) => (data as { content: string }).content),
    async close() {
      await t.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type Letters = Awaited<ReturnType<typeof makeLetters>>;

/** A code of eight digits that is another one. */
export const wrong = (code: string, by = 1): string => String((Number(code) + by) % 10 ** 8).padStart(8, '0');
