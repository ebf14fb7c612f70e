import { describe, expect, it } from '@jest/globals';
import { account, charge, clientsOf, refundOf } from './gateway.js';

const aPaymentIntent = { reference: expect.stringMatching(/^pi_/) };
const aRefund = { reference: expect.stringMatching(/^re_/) };

/**
 * Requests against stripe-mock, which refuses a parameter that Stripe's description of its API does not have, and answers
 * the others with fixtures: an outcome with a reference was accepted, a refused one has none.
 */
export function againstStripeMock(url: string): void {
  const { gateway } = clientsOf(url);
  const request = { idempotencyKey: 'm', userId: 1, email: 'ada@example.com', gatewayUserId: '', data: {} };

  describe('stripe-mock accepts', () => {
    it('charges: without the user, with the user on a page, and only reserved', async () => {
      expect(await gateway.charge(account, charge)).toMatchObject(aPaymentIntent);
      const attended = { ...charge, offSession: false, returnUrl: 'https://shop.example.com/back' };
      expect(await gateway.charge(account, attended)).toMatchObject(aPaymentIntent);
      expect(await gateway.charge(account, { ...charge, manualCapture: true })).toMatchObject(aPaymentIntent);
    });

    it('inquiries for a charge by its id and by its key', async () => {
      const ref = { idempotencyKey: 'pay_1-1', reference: 'pi_1', gatewayUserId: 'cus_1', sentAt: 1_800_000_000 };
      expect(await gateway.status(account, ref)).toMatchObject(aPaymentIntent);
      expect(await gateway.status(account, { ...ref, reference: '' })).toEqual({ is: 'absent' });
    });

    it('captures and cancellations', async () => {
      expect(await gateway.capture(account, refundOf('pi_1'))).toMatchObject(aPaymentIntent);
      expect(await gateway.cancel(account, 'pi_1')).toMatchObject(aPaymentIntent);
    });

    it('refunds, and inquiries for them by id and by key', async () => {
      expect(await gateway.refund(account, refundOf('pi_1'))).toMatchObject(aRefund);
      expect(await gateway.refundStatus(account, refundOf('pi_1'), 're_1')).toMatchObject(aRefund);
      expect(await gateway.refundStatus(account, refundOf('pi_1'), '')).toEqual({ is: 'absent' });
    });

    it('a customer and the setup of a payment method, which its fixture leaves unfinished', async () => {
      const answer = await gateway.saveMethod(account, { ...request, data: { paymentMethodId: 'pm_1' } });
      expect(answer).toMatchObject({ reason: expect.stringMatching(/^the setup is /) });
    });
  });
}
