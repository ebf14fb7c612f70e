import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  changeUserEmail,
  changeUserGateway,
  emptyOf,
  Gateway,
  getUser,
  newSession,
  newUser,
  resumeUser,
  suspendUser,
  updateUser,
} from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
  for (const [id, archived] of [
    [3, false],
    [4, false],
    [5, true],
  ] as const) {
    const gateway = JSON.stringify({ ...emptyOf(Gateway), gatewayId: id, archive: archived });
    await t.rows('insert into gateway_copies values (15, $1, $2, $3, 1)', [id, archived, gateway]);
  }
});
afterAll(() => t.close());
afterEach(() => t.bus.remove('billing'));

let made = 0;
async function user(merchantId?: number) {
  const { user } = await t.done(newUser, { email: `c${++made}@example.com` }, { merchantId });
  await t.emitted();
  return user;
}
const shown = async (userId: number) => (await t.done(getUser, { userId })).user;

describe('every change of a user', () => {
  it.each([
    ['user/suspend_user', suspendUser, {}],
    ['user/resume_user', resumeUser, {}],
    ['user/change_gateway', changeUserGateway, { gatewayId: 3 }],
    ['user/change_email', changeUserEmail, { email: 'new@example.com' }],
  ] as const)("%s is refused alike of an unknown user and of another merchant's", async (_, operation, input) => {
    const theirs = await user(16);
    const unknown = await t.call(operation, { userId: 999_999, ...input });
    expect(unknown).toMatchObject({ slug: 'user_not_found' });
    expect(await t.call(operation, { userId: theirs.id, ...input })).toEqual(unknown);
    expect(await t.call(operation, { userId: 'x', ...input })).toMatchObject({ issues: [{ path: '/userId' }] });
    expect(await t.emitted()).toEqual([]);
    expect((await t.done(getUser, { userId: theirs.id }, { merchantId: 16 })).user).toMatchObject(theirs);
  });
});

describe('user/suspend_user and user/resume_user', () => {
  it('suspend and resume with one event each; again, nothing changes', async () => {
    const { id, email } = await user();
    for (const [operation, status, content, version] of [
      [suspendUser, 2, 'Suspend', 2],
      [resumeUser, 0, 'Resume', 3],
    ] as const) {
      expect(await t.done(operation, { userId: id })).toEqual({});
      expect(await t.emitted()).toMatchObject([
        { type: 'user.updated', version, data: { id, status, version } },
        { type: 'operation.logged', data: { target: `User(${id})`, content, ids: { userId: id } } },
      ]);
      expect(await shown(id)).toMatchObject({ status });
      expect(await t.done(operation, { userId: id })).toEqual({});
      expect(await t.emitted()).toEqual([]);
      const opened = await t.call(newSession, { email });
      expect(opened).toMatchObject(status === 0 ? { ok: true } : { slug: 'user_inactive' });
      await t.emitted();
    }
  });

  it('a user who is suspended can be changed, and stays suspended', async () => {
    const { id } = await user();
    await t.done(suspendUser, { userId: id });
    expect((await t.done(updateUser, { userId: id, city: 'Paris' })).user).toMatchObject({ status: 2, city: 'Paris' });
  });

  it('happen once each, however many ask at once', async () => {
    const { id } = await user();
    await Promise.all(Array.from({ length: 64 }, () => t.done(suspendUser, { userId: id })));
    expect(await t.emitted()).toHaveLength(2);
    const mixed = Array.from({ length: 64 }, (_, at) => t.done(at % 2 ? suspendUser : resumeUser, { userId: id }));
    await Promise.all(mixed);
    const versions = (await t.emitted()).flatMap(event => (event.type === 'user.updated' ? [event] : []));
    expect(versions.map(({ version }) => version)).toEqual(versions.map((_, at) => at + 3));
    const states = versions.map(({ data }) => (data as { status: number }).status);
    expect(states).toEqual(states.map((_, at) => (at % 2 ? 2 : 0)));
  });
});

describe('user/change_gateway', () => {
  it('changes the gateway and how it is paid, with one event', async () => {
    const { id } = await user();
    const paying = { gatewayPaymentType: 'sepa', paymentMethodId: 'pm_1' };
    expect(await t.done(changeUserGateway, { userId: id, gatewayId: 3, ...paying })).toEqual({});
    const after = { gatewayId: 3, gatewayPaymentType: 'sepa', paymentMethod: 'pm_1' };
    expect(await t.emitted()).toMatchObject([
      { type: 'user.updated', data: after },
      { type: 'operation.logged', data: { content: 'ChangeGateway', ids: { userId: id } } },
    ]);
    expect(await shown(id)).toMatchObject({ ...after, gateway: { gatewayId: 3 } });
    await t.done(changeUserGateway, { userId: id, gatewayId: 3, ...paying });
    expect(await t.emitted()).toEqual([]);
    // fields that are not sent stay on the same gateway, and are cleared on another
    await t.done(changeUserGateway, { userId: id, gatewayId: 3, paymentMethodId: 'pm_2' });
    expect(await shown(id)).toMatchObject({ ...after, paymentMethod: 'pm_2' });
    await t.done(changeUserGateway, { userId: id, gatewayId: 4 });
    expect(await shown(id)).toMatchObject({ gatewayId: 4, gatewayPaymentType: '', paymentMethod: '' });
    await t.done(changeUserGateway, { userId: id, gatewayId: 0 });
    expect(await shown(id)).toMatchObject({ gatewayId: 0, gateway: null });
  });

  it('refuses one that is unknown or archived, when billing says so too', async () => {
    const { id } = await user();
    const call = (gatewayId: number) => t.call(changeUserGateway, { userId: id, gatewayId });
    expect(await call(6)).toMatchObject({ slug: 'dependency_away' });
    t.bus.answer('billing', async () => ({ ok: true, bytes: JSON.stringify({ item: null }) }));
    expect(await call(6)).toMatchObject({ slug: 'gateway_not_found' });
    expect(await call(5)).toMatchObject({
      slug: 'gateway_archived',
      message: 'Gateway 5 is archived: cannot give it to a user',
    });
    expect(await t.call(changeUserGateway, { userId: id })).toMatchObject({ issues: [{ path: '/gatewayId' }] });
    expect(await t.emitted()).toEqual([]);
  });
});

describe('user/change_email', () => {
  it('changes the e-mail, by which the user is then found', async () => {
    const { id } = await user();
    expect(await t.done(changeUserEmail, { userId: id, email: 'Moved@Example.com' })).toEqual({});
    expect(await t.emitted()).toMatchObject([
      { type: 'user.updated', version: 2, data: { email: 'Moved@Example.com' } },
      { type: 'operation.logged', data: { target: `User(${id})`, content: 'ChangeEmail' } },
    ]);
    expect(await t.done(newSession, { email: 'moved@example.com' })).toMatchObject({ userId: String(id) });
    await t.emitted();
    await t.done(changeUserEmail, { userId: id, email: 'Moved@Example.com' });
    expect(await t.emitted()).toEqual([]);
    await t.done(changeUserEmail, { userId: id, email: 'moved@example.com' });
    expect(await shown(id)).toMatchObject({ email: 'moved@example.com', version: 3 });
  });

  it("refuses what is none, and another user's, in any case: 51", async () => {
    const [own, other] = [await user(), await user()];
    const refused = { slug: 'invalid_parameters', issues: [{ path: '/email' }] };
    for (const email of ['', 'nobody', 'a b@c', other.email.toUpperCase(), 7]) {
      expect(await t.call(changeUserEmail, { userId: own.id, email })).toMatchObject(refused);
    }
    // another merchant's user may have the e-mail
    const theirs = await user(16);
    expect(await t.call(changeUserEmail, { userId: own.id, email: theirs.email })).toMatchObject({ ok: true });
  });

  it('gives an e-mail that many want at once to one', async () => {
    const all = await Promise.all(Array.from({ length: 64 }, () => user()));
    const results = await Promise.all(
      all.map(({ id }, at) =>
        t.call(changeUserEmail, { userId: id, email: at % 2 ? 'one@example.com' : 'ONE@example.com' }),
      ),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    expect(results.filter(result => !result.ok && result.slug === 'invalid_parameters')).toHaveLength(63);
  });
});
