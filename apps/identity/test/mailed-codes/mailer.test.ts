import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { requestLoginCode } from '@recur/contracts';
import type { Merchant } from '../portal.js';
import { invalid, type Letters, makeLetters } from './letters.js';
import { SmtpServer } from './smtp-server.js';

let l: Letters;
let owner: Merchant;
let member: Merchant;
beforeAll(async () => {
  l = await makeLetters();
});
afterAll(() => l.close());
beforeEach(async () => {
  owner = await l.p.merchant();
  member = await l.member(owner);
  l.news();
});

/** Runs with a mail route that takes nothing: its folder is a file. */
async function broken(run: () => Promise<void>): Promise<void> {
  const mails = path.join(l.folder, 'mails');
  rmSync(mails, { recursive: true, force: true });
  writeFileSync(mails, '');
  await run();
  rmSync(mails);
}
const waiting = () => l.p.t.rows(`select key, attempts, parked_at from due_work where kind = 'sign_in.code'`);

describe('a mail server that fails', () => {
  it('is asked again, with another code', async () => {
    await broken(async () => void (await l.request(requestLoginCode, member.email)));
    expect(await waiting()).toMatchObject([{ attempts: 1 }]);
    expect(l.news()).toEqual([]);
    l.p.clock.advance(10);
    await l.p.t.work.drain();
    const mails = l.news();
    expect(mails).toHaveLength(1);
    expect(await waiting()).toEqual([]);
    expect(await l.login({ email: member.email, verificationCode: l.codeIn(mails[0]) })).toMatchObject({ ok: true });
  });

  it('is asked no more when nobody waits for the code', async () => {
    await broken(async () => void (await l.request(requestLoginCode, member.email)));
    l.p.clock.advance(600);
    await l.p.t.work.drain();
    expect(l.news()).toEqual([]);
    expect(await waiting()).toEqual([]);
  });

  it('holds up no other address with one that it does not take, and sends none twice', async () => {
    const smtp = await SmtpServer.open();
    const other = await makeLetters({ MAIL_FOLDER: '', SMTP_URL: smtp.url });
    const merchant = await other.p.merchant();
    const [late, gone, fine] = [
      await other.member(merchant),
      await other.member(merchant),
      await other.member(merchant),
    ];
    smtp.refusals.set(late.email, 451).set(gone.email, 550);
    for (const { email } of [late, gone, fine]) await other.p.call(requestLoginCode, { email }, other.anonymous);
    await other.p.t.work.drain();
    expect(smtp.taken).toEqual([fine.email]);
    // given up is what the server will never take
    expect(await other.p.t.rows('select attempts from due_work where kind = $1', ['sign_in.code'])).toHaveLength(1);
    smtp.refusals.clear();
    other.p.clock.advance(10);
    await other.p.t.work.drain();
    expect(smtp.taken).toEqual([fine.email, late.email]);
    await other.close();
    await smtp.close();
  });
});

describe('a request', () => {
  it('under the same Idempotency-Key does not replace the code that it was answered with', async () => {
    const ask = () => l.p.call(requestLoginCode, { email: member.email }, { ...l.anonymous, idempotencyKey: 'ask' });
    expect(await ask()).toEqual({ ok: true, data: {} });
    await l.p.t.work.drain();
    expect(await ask()).toMatchObject({ ok: true, data: {}, replayOf: expect.any(String) });
    await l.p.t.work.drain();
    const mails = l.news();
    expect(mails).toHaveLength(1);
    const other = await l.p.call(requestLoginCode, { email: owner.email }, { ...l.anonymous, idempotencyKey: 'ask' });
    expect(other).toEqual({ ok: true, data: {} });
    expect(await l.login({ email: member.email, verificationCode: l.codeIn(mails[0]) })).toMatchObject({ ok: true });
  });

  it('with a letter that only looks the same sends nothing to the address that it wrote', async () => {
    // the Kelvin sign, which is k in lower case
    const email = `kim-${member.memberId}@example.com`;
    await l.member(owner, email);
    await l.request(requestLoginCode, email.replace('k', '\u212a'));
    const [mail = ''] = l.news();
    expect(mail).toContain(`To: ${email}`);
    const other = await l.p.merchant();
    const odd = `\u212aim-${other.memberId}@example.com`;
    await l.member(other, odd);
    await l.request(requestLoginCode, odd);
    await l.request(requestLoginCode, odd.toLowerCase());
    expect(l.news()).toEqual([]);
  });

  it('changes nothing of a merchant, and writes no entry in a log', async () => {
    await l.p.t.emitted();
    await l.request(requestLoginCode, member.email);
    expect(await l.p.t.emitted()).toEqual([]);
    expect(await l.p.t.rows('select 1 from tenants where merchant_id = 0')).toEqual([]);
  });
});

describe('a code', () => {
  it('stands in no table, used or not', async () => {
    const everything = async () => {
      const tables = await l.p.t.rows(`select tablename from pg_tables where schemaname = 'public'`);
      const texts = tables.map(({ tablename }) => l.p.t.rows(`select t::text from "${tablename}" t`));
      return JSON.stringify(await Promise.all(texts));
    };
    const code = await l.loginCode(member.email);
    const readable = new RegExp(`\\b${code}\\b`);
    expect(await everything()).not.toMatch(readable);
    const answer = await l.login({ email: member.email, verificationCode: code }, { idempotencyKey: 'kept' });
    expect(answer).toMatchObject({ ok: true });
    expect(await everything()).not.toMatch(readable);
    const next = await l.passwordCode(member.email);
    const input = { email: member.email, verificationCode: next, newPassword: 'a canary in a mine' };
    expect(await l.setPassword(input, { idempotencyKey: 'set' })).toMatchObject({ ok: true });
    const all = await everything();
    for (const secret of [next, 'a canary in a mine']) expect(all).not.toMatch(new RegExp(`\\b${secret}\\b`));
    // the search finds what is there
    expect(all).toContain(member.email);
  });

  it('that is copied to another address or purpose is refused there', async () => {
    const other = await l.member(owner);
    const code = await l.loginCode(member.email);
    await l.loginCode(other.email);
    await l.p.t.rows(
      `update mailed_codes set code_hash = (select code_hash from mailed_codes where email = $1) where email = $2`,
      [member.email, other.email],
    );
    expect(await l.login({ email: other.email, verificationCode: code })).toEqual(invalid);
    expect(await l.login({ email: member.email, verificationCode: code })).toMatchObject({ ok: true });
  });
});
