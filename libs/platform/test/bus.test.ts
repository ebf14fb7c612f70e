import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Bus } from '../src/bus.js';
import { systemCaller } from '../src/caller.js';
import { systemClock } from '../src/clock.js';
import { createLog, type Log } from '../src/log.js';
import { TestNats } from '../src/testing-nats.js';

const log = createLog('test', process.env.TEST_LOG_LEVEL ?? 'silent');
let nats: TestNats;
let service: Bus;
let client: Bus;

beforeAll(async () => {
  nats = await TestNats.start();
  service = await Bus.connect(nats.url, 'service', systemClock, log, false);
  client = await Bus.connect(nats.url, 'client', systemClock, log, false);
  await service.serve('catalog', async command => ({ ok: true, bytes: 'é'.repeat(Number(command) / 2) }));
  await service.serve('echo', async (_, payload) => ({ ok: true, bytes: payload }));
});
afterAll(async () => {
  await client.close();
  await service.close();
  await nats.close();
});

const ask = async (bytes: number) => {
  const caller = systemCaller(15, 'r', systemClock.wall() + 5_000);
  const { ok, bytes: answer } = await client.request(`cmd.catalog.${bytes}`, '', caller);
  return { ok, answer };
};

it('an answer that the bus does not carry is refused, and the others are given', async () => {
  const most = 1024 * 1024;
  const [small, large, huge] = await Promise.all([ask(10), ask(most - 2_000), ask(most + 2)]);
  expect(small).toMatchObject({ ok: true });
  expect([large?.ok, large?.answer.length]).toEqual([true, most - 2_000]);
  expect(huge?.ok).toBe(false);
  expect(JSON.parse(Buffer.from(huge?.answer ?? '').toString())).toMatchObject({ slug: 'answer_too_large' });
  expect(await ask(10)).toMatchObject({ ok: true });
});

it('a command arrives as it was sent, be it in one piece or in several', async () => {
  const caller = systemCaller(15, 'r', systemClock.wall() + 5_000);
  for (const length of [100, 70_000, 900_000]) {
    const sent = JSON.stringify({ name: 'é'.repeat(length / 2) });
    const { bytes } = await client.request('cmd.echo.say', sent, caller);
    expect(Buffer.from(bytes).toString() === sent).toBe(true);
  }
});

it('a service is heard from the moment that it serves', async () => {
  for (let round = 1; round <= 50; round++) {
    const stop = await service.serve(`new-${round}`, async () => ({ ok: true, bytes: 'heard' }));
    const caller = systemCaller(15, 'r', systemClock.wall() + 5_000);
    expect(await client.request(`cmd.new-${round}.say`, '', caller)).toMatchObject({ ok: true });
    await stop();
  }
});

it('an answer that comes too late is left alone, and the outcome of its command is unknown', async () => {
  const late = new EventEmitter();
  const stop = await service.serve('slow', async () => {
    await once(late, 'now');
    return { ok: true, bytes: 'late' };
  });
  const command = client.request('cmd.slow.say', '', systemCaller(15, 'r', systemClock.wall() + 100));
  await expect(command).rejects.toMatchObject({ slug: 'deadline_exceeded' });
  late.emit('now');
  await stop();
  expect(await ask(10)).toMatchObject({ ok: true });
});

it('a command on a connection that is closed was not sent', async () => {
  const gone = await Bus.connect(nats.url, 'gone', systemClock, log, false);
  await gone.close();
  const command = gone.request('cmd.echo.say', '', systemCaller(15, 'r', systemClock.wall() + 5_000));
  await expect(command).rejects.toMatchObject({ slug: 'dependency_away' });
});

it('a message that is no command is left alone, and the commands after it are answered', async () => {
  client.nc.publish('cmd.catalog.10', '');
  expect(await ask(10)).toMatchObject({ ok: true });
});

it('a listener that fails at a signal hears the next one, and the commands after it are answered', async () => {
  const heard: string[] = [];
  service.onSignal('a.signal', payload => {
    heard.push(payload);
    if (payload === 'nonsense') throw new Error('this is nonsense');
  });
  await service.nc.flush();
  client.signal('a.signal', 'nonsense');
  client.signal('a.signal', 'sense');
  expect(await ask(10)).toMatchObject({ ok: true });
  expect(heard).toEqual(['nonsense', 'sense']);
});

it('who stops serving waits for what is under way until its answer is on the way', async () => {
  const inside = new EventEmitter();
  const stop = await service.serve('billing', async () => {
    setImmediate(() => inside.emit('begun'));
    await once(inside, 'end');
    return { ok: true, bytes: 'answered' };
  });
  const caller = systemCaller(15, 'r', systemClock.wall() + 5_000);
  const [asked] = [client.request('cmd.billing.slow', '', caller), await once(inside, 'begun')];
  let stopped = false;
  const stopping = stop().then(() => {
    stopped = true;
  });
  await service.nc.flush();
  await service.nc.flush();
  expect(stopped).toBe(false);
  inside.emit('end');
  await stopping;
  expect(await asked).toMatchObject({ ok: true });
});

it('who waits for the first connection says so, and why', async () => {
  const late = await TestNats.start();
  await late.kill();
  const said = new EventEmitter();
  const listening = { warn: (words: string) => said.emit('warn', words), info: () => undefined } as unknown as Log;
  const connecting = Bus.connect(late.url, 'patient', systemClock, listening);
  const [words] = await once(said, 'warn');
  expect(words).toMatch(`${late.url} cannot be reached yet (connection refused)`);
  await late.start();
  const patient = await connecting;
  expect(patient.up).toBe(true);
  await patient.close();
  await late.close();
});
