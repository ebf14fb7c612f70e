import { Agent, request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Services, signingKey, TestGateway, TestNats } from './stand.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let key: string;

beforeEach(async () => {
  nats = await TestNats.start();
  const signer = await signingKey('k1');
  key = await signer.sign();
  services = await Services.start(nats.url, [signer.jwk]);
  gateway = await (await TestGateway.start(nats.url)).ready();
});
afterEach(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** A request on the one connection that is kept open. */
function onOpenConnection(path: string): Promise<{ status: number | undefined; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request({ port: gateway.port, host: '127.0.0.1', path, agent }, response => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode, connection: response.headers.connection }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('a gateway that is told to end', () => {
  it('answers what is in flight, takes no new connection, and then ends', async () => {
    let release = () => {};
    const arrived = new Promise<void>(resolve => {
      services.answer = () => {
        resolve();
        return new Promise(answer => {
          release = () => answer({ ok: true, bytes: '{"done":true}' });
        });
      };
    });
    const inFlight = gateway.post('/merchant/sample/write', { amount: 1 }, key);
    await arrived;
    let ended = false;
    const drained = gateway.stop().then(() => {
      ended = true;
    });
    await expect(gateway.send('/livez')).rejects.toThrow('ECONNREFUSED');
    expect(ended).toBe(false);
    release();
    const answer = await inFlight;
    expect(answer).toMatchObject({ status: 200, json: { code: 0, data: { done: true } } });
    expect(answer.headers.connection).toBe('close');
    await drained;
  });

  it('answers the request that a client was about to send on an open connection, as its last', async () => {
    expect(await onOpenConnection('/livez')).toEqual({ status: 200, connection: 'keep-alive' });
    const drained = gateway.stop();
    expect((await gateway.ops('/readyz')).status).toBe(503);
    expect(await onOpenConnection('/livez')).toEqual({ status: 200, connection: 'close' });
    await drained;
  });

  it('does not wait for connections on which nothing comes', async () => {
    await onOpenConnection('/livez');
    const before = Date.now();
    await gateway.stop();
    expect(Date.now() - before).toBeLessThan(5_000);
    await expect(onOpenConnection('/livez')).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket hang up/);
  });
});
