import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { headers, type Msg } from '@nats-io/transport-node';
import { Bus } from '../src/bus/bus.js';
import { systemCaller } from '../src/runtime/caller.js';
import { systemClock } from '../src/runtime/clock.js';
import { createLog, type Log } from '../src/runtime/log.js';
import { TestNats } from '../src/testing/nats.js';

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

/** The messages of a subject, as they come from now on. */
async function listen(subject: string) {
  const heard: Msg[] = [];
  service.nc.subscribe(subject, { callback: (_, message) => void heard.push(message) });
  await service.nc.flush();
  return heard;
}

it('commands that are sent together are a message each, and each gets its own answer', async () => {
  const stop = await service.serve('together', async (_, payload, { requestId }) => {
    const number = Number(payload);
    // the first come last
    for (let turn = number; turn < 40; turn += 10) await nextTurn();
    if (number % 3 === 0) return { ok: false, bytes: JSON.stringify({ slug: payload }) };
    return { ok: true, bytes: `${payload}\n${requestId}é`, ...(number % 3 === 1 && { replayOf: `first ${payload}` }) };
  });
  const heard = await listen('cmd.together.>');
  const ask = (name: string, number: number) => {
    const caller = systemCaller(15, `r${number}`, systemClock.wall() + 5_000);
    return client.request(`cmd.together.${name}`, String(number), caller);
  };
  const numbers = Array.from({ length: 40 }, (_, at) => at);
  const answers = await Promise.all([ask('other', 41), ...numbers.map(number => ask('say', number))]);
  const said = answers.map(({ ok, bytes, replayOf }) => [ok, Buffer.from(bytes).toString(), replayOf]);
  expect(said).toEqual(
    [41, ...numbers].map(number => [
      number % 3 !== 0,
      number % 3 === 0 ? `{"slug":"${number}"}` : `${number}\nr${number}é`,
      number % 3 === 1 ? `first ${number}` : undefined,
    ]),
  );
  expect(heard).toHaveLength(41);
  await stop();
});

it('of commands that are sent together none waits for another, and each has its own deadline', async () => {
  const inside = new EventEmitter();
  const stop = await service.serve('apart', async (_, payload) => {
    if (payload === 'slow') await once(inside, 'end');
    return { ok: true, bytes: payload };
  });
  const ask = (payload: string, ms: number) =>
    client.request('cmd.apart.say', payload, systemCaller(15, 'r', systemClock.wall() + ms));
  const [slow, late, quick] = [ask('slow', 5_000), ask('slow', 100), ask('quick', 5_000)];
  expect(Buffer.from((await quick).bytes).toString()).toBe('quick');
  await expect(late).rejects.toMatchObject({ slug: 'deadline_exceeded' });
  inside.emit('end');
  expect(Buffer.from((await slow).bytes).toString()).toBe('slow');
  await stop();
});

it('a command that the bus does not carry fails alone', async () => {
  const caller = systemCaller(15, 'r', systemClock.wall() + 5_000);
  const payloads = ['a', 'b'.repeat(2 * 1024 * 1024), 'c'];
  const [first, second, third] = await Promise.allSettled(
    payloads.map(payload => client.request('cmd.echo.say', payload, caller)),
  );
  expect([first?.status, second?.status, third?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('commands that nobody listens to were not done, each of them', async () => {
  const ask = () => client.request('cmd.nobody.say', '', systemCaller(15, 'r', systemClock.wall() + 5_000));
  const results = await Promise.allSettled([ask(), ask()]);
  const away = { status: 'rejected', reason: { slug: 'dependency_away' } };
  expect(results).toMatchObject([away, away]);
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

it('a message that is no command is refused, and the commands after it are answered', async () => {
  for (const nonsense of ['', 'nonsense', '{}\n']) {
    const reply = await client.nc.request('cmd.catalog.10', nonsense);
    expect(reply.headers?.get('Recur-Status')).toBe('refused');
    client.nc.publish('cmd.catalog.10', nonsense);
  }
  expect(await ask(10)).toMatchObject({ ok: true });
});

it('an answer that is none is left alone, and the right one is taken', async () => {
  const inside = new EventEmitter();
  const stop = await service.serve('asked', async () => {
    await once(inside, 'end');
    return { ok: true, bytes: 'right' };
  });
  const heard = await listen('cmd.asked.>');
  const asked = client.request('cmd.asked.say', '', systemCaller(15, 'r', systemClock.wall() + 5_000));
  while (heard.length === 0) await service.nc.flush();
  const sent = headers();
  sent.set('Recur-Status', 'maybe');
  heard[0]?.respond('nonsense');
  heard[0]?.respond('nonsense', { headers: sent });
  await service.nc.flush();
  inside.emit('end');
  expect(Buffer.from((await asked).bytes).toString()).toBe('right');
  await stop();
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
