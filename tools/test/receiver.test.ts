import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { objectOf } from '@recur/client';
import { webhookEventNames } from '@recur/contracts';
import { checkoutRoot } from '../local/home.js';

const page = readFileSync(path.join(checkoutRoot(), 'docs/webhooks.md'), 'utf8');
/** The part of receiver.mjs that names the object of an event. */
const [naming = ''] = /^const idOf = [\s\S]*?^function objectOf[\s\S]*?^}/m.exec(page) ?? [];

/** The objects that it names for events. */
async function namedIn(code: string, events: readonly object[]): Promise<(string | null)[]> {
  const run = `${code}\nconsole.log(JSON.stringify(JSON.parse(process.env.EVENTS).map(each => objectOf(each) ?? null)));`;
  const env = { EVENTS: JSON.stringify(events) };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', run], { env });
  return JSON.parse(stdout);
}

const data = (id: number) => ({
  id,
  userId: id,
  metricId: id,
  subscriptionId: `sub_${id}`,
  pendingUpdateId: `pu_${id}`,
  invoiceId: `in_${id}`,
  paymentId: `pay_${id}`,
  refundId: `rf_${id}`,
});
const events = [1, 2].flatMap(id => webhookEventNames.map(type => ({ type, data: data(id) })));
/** For each value, where it occurs first. */
const pattern = (values: readonly unknown[]) => values.map(value => values.indexOf(value));

it('the receiver of docs/webhooks.md names the same objects as the client', async () => {
  const ours = events.map(each => objectOf({ id: '', timestamp: '', merchantId: 1, sequence: 1, ...each }));
  expect(pattern(await namedIn(naming, events))).toEqual(pattern(ours));
  const planted = naming.replace(/^ {2}refund: .*\n/m, '  refund: data => data.refund,\n');
  expect(pattern(await namedIn(planted, events))).not.toEqual(pattern(ours));
  expect(await namedIn(naming, [{ type: 'balloon.popped', data: {} }])).toEqual([null]);
});
