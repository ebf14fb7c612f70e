import { randomUUID } from 'node:crypto';
import { type Client, webhookReceiver } from '@recur/client';
import express, { type Request, type RequestHandler } from 'express';

const ACTIVE = 2;

/** An app that sells plans, serves reports as far as a plan has them, and follows subscriptions by webhooks. */
export function shop(recur: Client, secrets: readonly string[]) {
  const app = express();
  // the plan of each subscription: in production a table; and who the user is comes from your sign-in
  const plans = new Map<string, number>();
  const userOf = (request: Request) => request.header('x-user') ?? '';

  app.post('/subscribe/:plan', async (request, response) => {
    const [id, plan] = [userOf(request), Number(request.params.plan)];
    const user = { externalUserId: id, email: `${id}@example.com` };
    const sold = await recur.attach({ user, plan, returnUrl: 'https://shop.example.com/welcome' });
    if (sold.is === 'refused' || sold.is === 'unknown') response.status(409).send(sold.error.message);
    else response.redirect(303, sold.is === 'page' ? sold.url : '/welcome');
  });

  const counted: RequestHandler = async (request, response, next) => {
    // decides and counts in one; a refusal also begins an upgrade where the plan has one
    const usage = { user: userOf(request), metric: 'reports', value: 1, id: randomUUID() };
    if ((await recur.track(usage)).ok) next();
    else response.status(402).send('The plan has no more reports');
  };
  app.get('/report', counted, (_request, response) => void response.send('a report'));

  // the data of its events is the whole state of a subscription
  const receive = webhookReceiver({
    secrets,
    latest: {
      subscription: ({ data }) =>
        data.status === ACTIVE ? plans.set(data.subscriptionId, data.planId) : plans.delete(data.subscriptionId),
    },
  });
  app.post('/webhooks', express.text({ type: () => true, limit: '4mb' }), async (request, response) => {
    const receipt = await receive({ body: request.body, headers: request.headers });
    if (receipt.outcome === 'failed') console.error(receipt.error);
    response.sendStatus(receipt.status);
  });
  return { app, plans };
}
