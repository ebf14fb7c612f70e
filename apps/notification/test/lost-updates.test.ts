import { afterAll, describe, expect, it } from '@jest/globals';
import {
  type AutomationAnswer,
  operations as all,
  automationOauthUrl,
  cancelReplay,
  deleteEndpoint,
  disconnectAutomation,
  listEndpointLogs,
  listEndpoints,
  newEndpoint,
  type Operation,
  replayWebhooks,
  resendWebhook,
  rotateSecret,
  testEvent,
  updateEndpoint,
} from '@recur/contracts';
import { merchantState, type Race, unserializable } from '@recur/platform/testing';
import { Dispatcher } from '../src/deliveries/sending/dispatcher.js';
import { platformAt, returnUrl } from './automation/platform.js';
import { makeStand } from './stand.js';

const stand = await makeStand();
const { t, url, event } = stand;
afterAll(() => stand.close());

interface Of {
  merchantId: number;
}
type Command = Race['commands'][number];
type Commands = (of: Of) => Promise<readonly [Command, Command]>;
let merchants = 1_000;

const twice = (command: Command) => [command, command] as const;
const endpointOf = async (of: Of) =>
  (await t.done(newEndpoint, { url, events: ['invoice.created', 'invoice.paid'] }, of)).endpointId;
const setState = (endpointId: number, state: string) =>
  t.rows('update endpoints set state = $2 where endpoint_id = $1', [endpointId, state]);

/** An endpoint that got one delivery, whose entry in the log has this id. */
async function delivered(of: Of) {
  const endpointId = await endpointOf(of);
  await t.deliver('billing', [event(of)]);
  await t.app.get(Dispatcher).deliver(of.merchantId, endpointId);
  const [entry] = (await t.done(listEndpointLogs, { endpointId, count: 1 }, of)).endpointLogList;
  return { endpointId, logId: entry?.id ?? 0 };
}

/** An endpoint that missed two events. */
async function missed(of: Of) {
  const endpointId = await endpointOf(of);
  await setState(endpointId, 'disabled');
  await t.deliver('billing', [event(of), event(of)]);
  await setState(endpointId, 'enabled');
  return endpointId;
}

/** The operations that read before they write. */
const operations: readonly (readonly [Operation, Commands])[] = [
  [
    updateEndpoint,
    async of => {
      const endpointId = await endpointOf(of);
      return [
        () => t.call(updateEndpoint, { endpointId, url, events: ['invoice.paid'] }, of),
        () => t.call(updateEndpoint, { endpointId, url: `${url}/other` }, of),
      ];
    },
  ],
  [
    deleteEndpoint,
    async of => {
      const { endpointId } = await delivered(of);
      return twice(() => t.call(deleteEndpoint, { endpointId }, of));
    },
  ],
  [
    rotateSecret,
    async of => {
      const endpointId = await endpointOf(of);
      return twice(() => t.call(rotateSecret, { endpointId }, of));
    },
  ],
  [
    resendWebhook,
    async of => {
      const { logId } = await delivered(of);
      return twice(() => t.call(resendWebhook, { logId }, of));
    },
  ],
  [
    testEvent,
    async of => {
      const endpointId = await endpointOf(of);
      return twice(() => t.call(testEvent, { endpointId, event: 'invoice.created' }, of));
    },
  ],
  [
    replayWebhooks,
    async of => {
      const endpointId = await missed(of);
      return twice(() => t.call(replayWebhooks, { endpointId, createTimeStart: 0 }, of));
    },
  ],
  [
    cancelReplay,
    async of => {
      const endpointId = await missed(of);
      const { replayId } = await t.done(replayWebhooks, { endpointId, createTimeStart: 0 }, of);
      return twice(() => t.call(cancelReplay, { replayId }, of));
    },
  ],
  [
    automationOauthUrl,
    async of => {
      // one less than a merchant can have
      for (let made = 0; made < 19; made++) await t.done(automationOauthUrl, { returnUrl }, of);
      return twice(() => t.call(automationOauthUrl, { returnUrl }, of));
    },
  ],
  [
    disconnectAutomation,
    async of => {
      const { connectedOne } = platformAt({ ...stand, merchant: of });
      const { client_id: connectionId } = await connectedOne();
      return twice(() => t.call(disconnectAutomation, { connectionId }, of));
    },
  ],
];

/** Only adds; the limit of endpoints is enforced by a trigger. */
const additions = ['webhook.new_endpoint'];

const ended = (answer: AutomationAnswer) => {
  if (answer.kind === 'rejected') return { ok: false, slug: answer.slug };
  if (answer.kind === 'oauth') return { ok: answer.status === 200, slug: String(answer.body.error) };
  return { ok: answer.kind !== 'refusal', slug: answer.kind };
};

/** The requests of automation platforms that read before they write. */
const steps: Record<string, Commands> = {
  'a decision': async of => {
    const { requested, step } = platformAt({ ...stand, merchant: of });
    const fields = { ...(await requested()), allowed: 'true' };
    return twice(async () => ended(await step('decide', fields)));
  },
  'a code': async of => {
    const { allowedOne, step } = platformAt({ ...stand, merchant: of });
    const fields = await allowedOne();
    return twice(async () => ended(await step('token', fields)));
  },
  'a refresh token': async of => {
    const { connectedOne, step } = platformAt({ ...stand, merchant: of });
    const { refresh_token, client_id } = await connectedOne();
    const fields = { grant_type: 'refresh_token', refresh_token, client_id };
    return twice(async () => ended(await step('token', fields)));
  },
  'a revocation': async of => {
    const { connectedOne, step } = platformAt({ ...stand, merchant: of });
    const { access_token: token } = await connectedOne();
    return twice(async () => ended(await step('revoke', { token })));
  },
  'an unsubscription': async of => {
    const { connectedOne, hook } = platformAt({ ...stand, merchant: of });
    const { access_token } = await connectedOne();
    await hook('subscribe', access_token, { url, events: ['invoice.created'] });
    const [hooked] = (await t.done(listEndpoints, {}, of)).endpointList;
    return twice(async () => ended(await hook('unsubscribe', access_token, { endpointId: hooked?.id })));
  },
};

const tables = [
  'endpoints',
  'events',
  'deliveries',
  'due',
  'attempts',
  'catch_ups',
  'replays',
  'running_replays',
  'connections',
  'connection_lookups',
];
/** Ids, secrets and their hashes. */
const unlike = [
  'id',
  'merchant_id',
  'endpoint_id',
  'event_id',
  'delivery_id',
  'connection_id',
  'replay_id',
  'subject',
  'body',
  'sealed_secret',
  'sealed_former',
  'state_hash',
  'code_hash',
  'access_hash',
  'refresh_hash',
  'former_refresh_hash',
  'cursor',
  'until',
  'attempts_after',
  'duration_ms',
];

const races = [
  ...operations.map(([{ name }, commands]) => ({ name, commands })),
  ...Object.entries(steps).map(([name, commands]) => ({ name, commands })),
];

describe('a command that reads before it writes, twice at once', () => {
  it.each(races)('$name: ends as if one had come after the other', async ({ commands }) => {
    const found = await unserializable(async () => {
      const of = { merchantId: ++merchants };
      return {
        commands: await commands(of),
        state: () => merchantState(t, of.merchantId, { tables, unlike }),
      };
    });
    expect(found).toEqual([]);
  });

  it('is each of the service', () => {
    const own = all.filter(({ service, effect }) => service === 'notification' && effect === 'write');
    expect([...operations.map(([{ name }]) => name), ...additions].sort()).toEqual(own.map(({ name }) => name).sort());
  });
});
