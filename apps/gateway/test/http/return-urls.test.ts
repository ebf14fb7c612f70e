import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newSession } from '@recur/contracts';
import { Services, signingKey, TestGateway, TestNats } from '../stand.js';

let nats: TestNats;
let services: Services;

beforeAll(async () => {
  nats = await TestNats.start();
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

describe('a URL to return to', () => {
  it('is https in production, and may be http in a sandbox', async () => {
    const signer = await signingKey('k1');
    services = await Services.start(nats.url, [signer.jwk]);
    const user = { email: 'ada@example.com', externalUserId: '1' };
    for (const env of ['production', 'sandbox']) {
      const operations = [newSession];
      const gateway = await (await TestGateway.start(nats.url, { operations, env: { RECUR_ENV: env } })).ready();
      const key = await signer.sign({ env });
      const open = (urls: object) => gateway.post(newSession.path, { ...user, ...urls }, key);
      const plain = await open({ returnUrl: 'HTTP://shop.example/back', cancelUrl: 'http://shop.example' });
      expect(plain.json.error?.issues ?? []).toEqual(
        env === 'sandbox'
          ? []
          : ['returnUrl', 'cancelUrl'].map(name => ({
              path: `/${name}`,
              message: `${name} must be an https URL in production`,
            })),
      );
      expect(await open({ returnUrl: 'https://shop.example/back', cancelUrl: '' })).toMatchObject({ status: 200 });
    }
  });
});

describe('the page for a code', () => {
  it('shows a code and words of ours, and no words of a link', async () => {
    const gateway = await TestGateway.start(nats.url);
    const shown = async (query: Record<string, string>) =>
      (await gateway.send(`/oauth/code?${new URLSearchParams(query)}`)).text;
    expect(await shown({ code: 'abc.D-_9' })).toContain('<code>abc.D-_9</code>');
    const queries: Record<string, string>[] = [
      { code: 'Call 555 0100 to get your code' },
      { error: 'Call 555', error_description: 'Call 555 0100' },
      { error: 'constructor', error_description: 'Call 555 0100' },
    ];
    for (const query of queries) {
      const page = await shown(query);
      expect(page).toContain('No code came. Begin again at the platform.');
      expect(page).not.toContain('555');
    }
    expect(await shown({ error: 'access_denied', error_description: 'x' })).toContain('was not allowed');
  });
});
