import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Actor, adminNoteList, getUser, newAdminNote, newUser } from '@recur/contracts';
import { type MovableClock, type TestService, testService } from '@recur/platform/testing';
import { Merchants } from '../../src/merchants/merchants.js';
import { identity } from '../../src/service.js';

let t: TestService;
let merchantId = 0;
let member: Actor;
let userId = 0;
beforeAll(async () => {
  t = await testService(identity);
  const made = await t.app.get(Merchants).create({ name: 'Acme', email: 'owner@example.com' }, 'boot');
  merchantId = made.merchantId;
  member = { kind: 'member', id: String(made.memberId), display: 'owner@example.com' };
  userId = (await t.done(newUser, { email: 'ada@example.com' }, { merchantId })).user.id;
  await t.emitted();
});
afterAll(() => t.close());

const note = (text: string, of = userId, actor = member) =>
  t.call(newAdminNote, { userId: of, note: text }, { merchantId, actor });
const list = async (more: object = {}) =>
  (await t.done(adminNoteList, { userId, page: 0, count: 20, ...more }, { merchantId })).noteLists;

describe('user/new_admin_note', () => {
  it('keeps what a member notes, and logs that, not what', async () => {
    expect(await note(' Called twice.\nPays on Friday. ')).toEqual({ ok: true, data: {} });
    expect(await t.emitted()).toMatchObject([
      {
        type: 'operation.logged',
        data: { actor: member, target: `User(${userId})`, content: 'NewAdminNote', ids: { userId } },
      },
    ]);
    const { user } = await t.done(getUser, { userId }, { merchantId });
    const { creditAccounts: _, promoCreditAccounts: __, gateway: ___, planId: ____, ...userAccount } = user;
    expect(await list()).toEqual([
      {
        id: expect.any(Number),
        createTime: t.clock.now(merchantId),
        merchantMemberId: Number(member.id),
        userId,
        note: ' Called twice.\nPays on Friday. ',
        merchantMember: {
          id: Number(member.id),
          merchantId,
          email: 'owner@example.com',
          firstName: '',
          lastName: '',
          isOwner: true,
          createTime: t.clock.now(merchantId),
        },
        userAccount,
      },
    ]);
  });

  it('is a member’s own affair: an API key and the system are refused', async () => {
    const others: Actor[] = [
      { kind: 'key', id: '1', display: 'key_...1' },
      { kind: 'user', id: '1', display: 'ada' },
      { kind: 'system', id: '', display: 'system' },
    ];
    for (const actor of others) expect(await note('x', userId, actor)).toMatchObject({ slug: 'permission_denied' });
    expect(newAdminNote.memberOnly).toBe(true);
  });

  it('refuses a blank one, one too long, and one of a user who is not there', async () => {
    for (const text of ['', ' \n ', 'x'.repeat(10_001)]) {
      expect(await note(text)).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/note' }] });
    }
    const { user: theirs } = await t.done(newUser, { email: 'x@example.com' }, { merchantId: 900 });
    const unknown = await note('x', 999_999);
    expect(unknown).toMatchObject({ slug: 'user_not_found' });
    expect(await note('x', theirs.id)).toEqual(unknown);
  });
});

describe('user/admin_note_list', () => {
  it('has the newest first, page by page, those of one second too', async () => {
    (t.clock as MovableClock).advance(60);
    await Promise.all(Array.from({ length: 64 }, (_, at) => note(`many ${at}`)));
    (t.clock as MovableClock).advance(60);
    await note('last');
    const pages = await Promise.all([0, 1, 2, 3].map(page => list({ page, count: 20 })));
    const all = pages.flat();
    expect(pages.map(({ length }) => length)).toEqual([20, 20, 20, 6]);
    expect(all[0]?.note).toBe('last');
    expect(all.at(-1)?.note).toContain('Called twice');
    expect(new Set(all.map(({ id }) => id)).size).toBe(66);
    expect(all).toEqual([...all].sort((a, b) => b.createTime - a.createTime || b.id - a.id));
  });

  it('is empty of a user without notes; of an unknown one and of another merchant’s it is 53 alike', async () => {
    const { user } = await t.done(newUser, { email: 'plain@example.com' }, { merchantId });
    expect(await list({ userId: user.id })).toEqual([]);
    const unknown = await t.call(adminNoteList, { userId: 999_999 }, { merchantId });
    expect(unknown).toMatchObject({ slug: 'user_not_found' });
    expect(await t.call(adminNoteList, { userId }, { merchantId: 900 })).toEqual(unknown);
    expect(await t.call(adminNoteList, {}, { merchantId })).toMatchObject({ issues: [{ path: '/userId' }] });
    expect(await t.call(adminNoteList, { userId, page: 100, count: 100 }, { merchantId })).toMatchObject({
      issues: [{ path: '/page' }],
    });
  });
});
