import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { objectOf, orThrow } from '@recur/client';
import { metricType } from '@recur/contracts';
import { sandboxGateway } from '../../card.js';
import { newPlan, newUser } from '../../shop.js';
import { sharedStand } from '../stand.js';

it('the object of a webhook event is that by which recur numbers it, of every event that the journeys provoke', async () => {
  const stand = await sharedStand();
  const { api, merchantId } = await stand.shop('Objects');
  const [gatewayId, userId] = [await sandboxGateway(api), await newUser(api)];
  const metric = randomUUID();
  const { merchantMetric } = orThrow(
    await api.post('/merchant/metric/new', { code: metric, metricName: metric, type: metricType.limitMetered }),
  );
  const metricLimits = [{ metricId: merchantMetric.id, metricLimit: 10 }];
  const plans = [
    await newPlan(api, { amount: 1_000, metricLimits }),
    await newPlan(api, { amount: 2_000, metricLimits }),
  ];
  for (const planId of plans) orThrow(await api.post('/merchant/plan/activate', { planId }));
  orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario: 'succeeds' } }));
  const attached = async (plan: number) =>
    expect(await api.attach({ user: userId, plan, waitMs: 60_000 })).toMatchObject({ is: 'done' });
  const [small = 0, large = 0] = plans;
  await attached(small);
  const { invoices } = orThrow(await api.get('/merchant/invoice/list', { userId }));
  const { invoiceId = '' } = invoices[0] ?? {};
  orThrow(await api.post('/merchant/invoice/refund', { invoiceId, refundAmount: 100, reason: 'Sorry' }));
  for (const plan of [large, small]) await attached(plan);
  orThrow(await api.track({ user: userId, metric, value: 1, id: randomUUID() }));
  await stand.quiet();

  const rows = await stand.ask('notification', `select merchant_id, body, subject from events where subject <> ''`);
  const isRight = (body: unknown, subject: string) => {
    const event = JSON.parse(String(body));
    return objectOf({ id: '', ...event }) === `${event.merchantId} ${subject}`;
  };
  expect(rows.filter(({ body, subject }) => !isRight(body, String(subject)))).toEqual([]);
  expect(rows.filter(({ body, subject }) => isRight(body, `${subject}0`))).toEqual([]);
  const own = rows.filter(({ merchant_id }) => Number(merchant_id) === merchantId);
  expect([...new Set(own.map(({ subject }) => String(subject).split(' ')[0]))].sort()).toEqual([
    'invoice',
    'payment',
    'pendingUpdate',
    'refund',
    'subscription',
    'user',
    'userMetric',
  ]);
});
