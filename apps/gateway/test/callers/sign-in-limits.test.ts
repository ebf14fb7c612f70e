import { describe, expect, it } from '@jest/globals';
import { networkOf } from '../../src/callers/address.js';
import { FailedSignIns } from '../../src/callers/failed-sign-ins.js';
import { SignInLimits } from '../../src/callers/sign-in-limits.js';

describe('an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:51324', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:51324', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['[2001:DB8:1:2::9]:443', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
  ])('%s counts as %s', (address, network) => expect(networkOf(address)).toBe(network));
});

describe('attempts to sign in', () => {
  const settings = { SIGN_IN_PER_ADDRESS: 30, SIGN_IN_PER_EMAIL: 100, SIGN_IN_PER_MINUTE: 10 };
  const limits = (clock: { nowMs: number }, own = {}) => new SignInLimits({ ...settings, ...own }, () => clock.nowMs);
  const times = (count: number, attempt: (at: number) => boolean) =>
    Array.from({ length: count }, (_, at) => attempt(at)).filter(allowed => allowed).length;

  it('are 30 a minute from one /64, however many of its addresses', () => {
    const clock = { nowMs: 0 };
    const counted = limits(clock);
    const from = (address: string) => counted.fromAddress(address).allowed;
    expect(times(60, at => from(`2001:db8:1:2:${at.toString(16)}::1`))).toBe(30);
    expect(from('2001:db8:1:3::1')).toBe(true);
    expect(counted.fromAddress('2001:db8:1:2::1')).toMatchObject({ allowed: false, limit: 30, retrySeconds: 2 });
    clock.nowMs += 2_000;
    expect(from('2001:db8:1:2::1')).toBe(true);
  });

  it('are 100 an hour with one e-mail, from wherever, and each has to wait longer', () => {
    const clock = { nowMs: 0 };
    const counted = limits(clock);
    let at = 0;
    const attempt = () => counted.withEmail(' Kim@example.com', `198.51.${++at >> 8}.${at & 255}`);
    expect(times(300, () => attempt().allowed)).toBe(20);
    expect(attempt()).toMatchObject({ allowed: false, retrySeconds: 1 });
    const pauses: number[] = [];
    for (let round = 0; round < 60; round++) {
      const { retrySeconds } = attempt();
      pauses.push(retrySeconds);
      clock.nowMs += retrySeconds * 1_000;
      expect(attempt().allowed).toBe(true);
    }
    expect(pauses).toEqual([...pauses].sort((one, other) => one - other));
    expect(pauses.at(0)).toBe(1);
    expect(pauses.at(-1)).toBe(16);
    expect(counted.withEmail('other@example.com', '198.51.0.1').allowed).toBe(true);
    // over a whole hour, from as many addresses as one likes
    const since = clock.nowMs;
    let allowed = 0;
    for (; clock.nowMs < since + 3_600_000; clock.nowMs += 1_000) if (attempt().allowed) allowed++;
    expect(allowed).toBeLessThanOrEqual(120);
  });

  it('are 10 a minute with an e-mail from one address, and the rest do not count for the e-mail', () => {
    const clock = { nowMs: 0 };
    const counted = limits(clock);
    expect(times(500, () => counted.withEmail('kim@example.com', '192.0.2.1').allowed)).toBe(10);
    expect(times(5, at => counted.withEmail('kim@example.com', `192.0.2.${at + 2}`).allowed)).toBe(5);
  });
});

describe('failed sign-ins', () => {
  const logged: Record<string, unknown>[] = [];
  const log = { warn: (fields: Record<string, unknown>) => logged.push(fields) };

  it('are one line for each address, with hashes of e-mails, whatever comes', () => {
    const failed = new FailedSignIns(log as never);
    for (let at = 0; at < 500; at++) failed.add('192.0.2.7', 'credential_invalid', `Kim${at % 40}@example.com `);
    failed.add('::ffff:192.0.2.7', 'rate_limited');
    failed.add('2001:db8::1', 'totp_required', 'kim1@example.com');
    failed.report();
    expect(logged).toHaveLength(2);
    const [first, second] = logged as [Record<string, unknown>, Record<string, unknown>];
    expect(first).toMatchObject({
      address: '192.0.2.7',
      attempts: 501,
      outcomes: { credential_invalid: 500, rate_limited: 1 },
    });
    expect(first.emailHashes).toHaveLength(10);
    expect(first.emailHashes).toContain((second.emailHashes as string[])[0]);
    expect(JSON.stringify(logged)).not.toContain('@');
    failed.report();
    expect(logged).toHaveLength(2);
  });

  it('of more addresses than are remembered are taken together', () => {
    logged.length = 0;
    const failed = new FailedSignIns(log as never);
    for (let at = 0; at < 3_000; at++) failed.add(`10.0.${at >> 8}.${at & 255}`, 'rate_limited');
    failed.report();
    expect(logged).toHaveLength(1_001);
    expect(logged.at(-1)).toMatchObject({ address: 'others', attempts: 2_000 });
  });
});
