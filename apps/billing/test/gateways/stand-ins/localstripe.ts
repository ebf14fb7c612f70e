import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { http, type Listening } from '@recur/platform/testing';
import type Stripe from 'stripe';
import { account, clientsOf, refundOf } from './gateway.js';

interface Callback {
  headers: Record<string, string>;
  body: Buffer;
}

/**
 * Captures, cancellations, refunds and callbacks at localstripe, which keeps state and signs its callbacks. The charges
 * are made by Stripe's client: localstripe does not know all parameters that the adapter sends with one. Its payment intents
 * state neither what was received nor what is reserved, so that their success is not known to the adapter.
 */
export function againstLocalstripe(url: string): void {
  const { gateway, stripe } = clientsOf(url);
  const charged = (capture_method: 'automatic' | 'manual', recur_key: string) =>
    stripe.paymentIntents.create({
      amount: 1200,
      currency: 'eur',
      payment_method: 'pm_card_visa',
      confirm: true,
      off_session: true,
      capture_method,
      metadata: { recur_key },
    });
  const statusOf = ({ id: reference }: Stripe.PaymentIntent) =>
    gateway.status(account, { idempotencyKey: '', reference, gatewayUserId: '', sentAt: 0 });

  describe('at localstripe', () => {
    let listening: Listening;
    const waiting = new Map<string, (callback: Callback) => void>();
    beforeAll(async () => {
      listening = await http((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', chunk => chunks.push(chunk));
        request.on('end', () => {
          const body = Buffer.concat(chunks);
          const { data } = JSON.parse(body.toString()) as { data: { object: Stripe.PaymentIntent } };
          const headers = { 'stripe-signature': String(request.headers['stripe-signature']) };
          waiting.get(data.object.metadata?.recur_key ?? '')?.({ headers, body });
          response.end();
        });
      });
      const hook = new URLSearchParams({ url: listening.url, secret: account.webhookSecret });
      await fetch(`${url}/_config/webhooks/recur`, { method: 'POST', body: hook });
    });
    afterAll(() => listening.close());

    it('a charge that was only reserved is captured', async () => {
      const { id: reference } = await charged('manual', 'pay_1-1');
      const unsaid = { is: 'unknown', reference };
      expect(await gateway.capture(account, { ...refundOf(reference), amount: 1200n })).toEqual(unsaid);
      expect(await stripe.paymentIntents.retrieve(reference)).toMatchObject({ status: 'succeeded' });
    });

    it('or cancelled', async () => {
      const intent = await charged('manual', 'pay_2-1');
      const cancelled = { is: 'cancelled', reference: intent.id };
      expect(await gateway.cancel(account, intent.id)).toEqual(cancelled);
      expect(await statusOf(intent)).toEqual(cancelled);
    });

    it('a refund is found by its id and by its key', async () => {
      const { id } = await charged('automatic', 'pay_3-1');
      const refunded = await gateway.refund(account, refundOf(id, 're_3'));
      expect(refunded).toEqual({
        is: 'succeeded',
        reference: expect.stringMatching(/^re_/),
        amount: 500n,
        currency: 'EUR',
      });
      expect(await gateway.refundStatus(account, refundOf(id, 're_3'), refunded.reference)).toEqual(refunded);
      expect(await gateway.refundStatus(account, refundOf(id, 're_3'), '')).toEqual(refunded);
      expect(await gateway.refundStatus(account, refundOf(id, 're_4'), '')).toEqual({ is: 'absent' });
    });

    it('a charge that it does not know stays unknown', async () => {
      const ref = { idempotencyKey: 'pay_4-1', reference: 'pi_none', gatewayUserId: '', sentAt: 0 };
      expect(await gateway.status(account, ref)).toEqual({ is: 'unknown', reference: '' });
    });

    it('a payment method that is deleted is detached from its customer', async () => {
      const { id: customer } = await stripe.customers.create({ email: 'ada@example.com' });
      const card = { number: '4242424242424242', exp_month: 12, exp_year: 2040, cvc: '123' };
      const { id } = await stripe.paymentMethods.create({ type: 'card', card });
      expect(await stripe.paymentMethods.attach(id, { customer })).toMatchObject({ customer });
      await gateway.deleteMethod(account, id);
      expect(await stripe.paymentMethods.retrieve(id)).toMatchObject({ customer: null });
    });

    it('the callback of a charge is signed as the adapter expects', async () => {
      const called = new Promise<Callback>(resolve => waiting.set('pay_5-1', resolve));
      const intent = await charged('automatic', 'pay_5-1');
      const { headers, body } = await called;
      const at = Number(/^t=(\d+)/.exec(headers['stripe-signature'] ?? '')?.[1]);
      const outcome = { is: 'unknown', reference: intent.id };
      expect(await gateway.callback(account, headers, body, at)).toMatchObject([
        { about: 'charge', at, idempotencyKey: 'pay_5-1', outcome },
      ]);
      const other = { ...account, webhookSecret: 'whsec_2' };
      expect(await gateway.callback(other, headers, body, at)).toBeUndefined();
    });
  });
}
