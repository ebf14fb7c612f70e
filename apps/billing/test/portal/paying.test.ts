import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  archiveGateway,
  createSubscription,
  editGateway,
  invoiceStatus,
  type Operation,
  paymentStatus,
  planType,
  portalGatewayList,
  portalInvoiceDetail,
  portalInvoiceOpen,
  portalInvoicePay,
  portalInvoicePayLink,
  portalMethodList,
  portalWireSent,
  restoreGateway,
  type Slug,
  setupGateway,
} from '@recur/contracts';
import { type CardShop, cardShop } from '../world/cards.js';
import { visitor } from '../world/shop.js';

let c: CardShop;
beforeAll(async () => {
  c = await cardShop();
  await c.stranger(16);
});
afterAll(() => c.t.close());

const t = () => c.t;
const nobody = { merchantId: 0 };
const wire = (userId: number) => c.made({ userId, gatewayId: c.gateway.gatewayId, finish: true });
const tokenOf = ({ link }: { link: string }) => link.split('/').at(-1) ?? '';
const detail = (invoiceId: string, userId: number) => t().done(portalInvoiceDetail, { invoiceId }, visitor(userId));
const pay = (invoiceId: string, userId: number, over: object = {}, as: object = {}) =>
  t().done(portalInvoicePay, { invoiceId, gatewayId: c.gatewayId, ...over }, { ...visitor(userId), ...as });
const refused = async (operation: Operation, input: object, slug: Slug, as: object = nobody) =>
  expect(await t().call(operation, input, as)).toMatchObject({ ok: false, slug });

describe('invoice/open', () => {
  it('shows the invoice behind its link, and the gateways that it can be paid by, to whoever has the link', async () => {
    const userId = await c.userWithCard();
    const made = await wire(userId);
    const shown = await t().done(portalInvoiceOpen, { token: tokenOf(made) }, nobody);
    const { gateways, checkout, ...invoice } = shown;
    expect(invoice).toEqual(await detail(made.invoiceId, userId));
    expect(gateways.map(({ gatewayName }) => gatewayName).sort()).toEqual(['sandbox', 'wire_transfer']);
    expect(checkout).toBeNull();
  });

  it('knows no other token, and no draft', async () => {
    for (const token of ['x'.repeat(43), 'invoice', '%'])
      await refused(portalInvoiceOpen, { token }, 'invoice_not_found');
    const made = await wire(await c.userWithCard());
    await t().rows(`update invoices set status = 'pending' where invoice_id = $1`, [made.invoiceId]);
    await refused(portalInvoiceOpen, { token: tokenOf(made) }, 'invoice_not_found');
  });

  it('keeps the links of payments before, and no token in its table', async () => {
    const userId = await c.userWithCard('succeeds');
    const made = await wire(userId);
    await t().rows(
      `update invoices set link = 'https://pay.example.com/portal/invoice/another' where invoice_id = $1`,
      [made.invoiceId],
    );
    for (const token of [tokenOf(made), 'another']) {
      const { invoice } = await t().done(portalInvoiceOpen, { token }, nobody);
      expect(invoice.invoiceId).toBe(made.invoiceId);
    }
    const [row] = await t().rows('select string_agg(l::text, $1) as all from invoice_links l', ['|']);
    expect(String(row?.all)).not.toContain(tokenOf(made));
  });
});

describe('the card fields of a gateway', () => {
  it('open by its publishable key; another key in its place is shown to nobody', async () => {
    const userId = await c.userWithCard();
    const token = tokenOf(await wire(userId));
    const stripe = { gatewayName: 'stripe', gatewayKey: 'pk_live_shown', gatewaySecret: 'sk_live_hidden' };
    const { gatewayId } = (await t().done(setupGateway, stripe)).gateway;
    const answers = async () => [
      (await t().done(portalGatewayList, {}, visitor(userId))).gateways,
      (await t().done(portalInvoiceOpen, { token }, nobody)).gateways,
    ];
    const keysOf = (all: Awaited<ReturnType<typeof answers>>) =>
      all.map(gateways => Object.fromEntries(gateways.map(({ gatewayName, publicKey }) => [gatewayName, publicKey])));
    const keys = { sandbox: '', stripe: 'pk_live_shown', wire_transfer: '' };
    expect(keysOf(await answers())).toEqual([keys, keys]);
    for (const gatewayKey of ['sk_live_pasted', 'rk_live_pasted', ' pk_live_pasted', 'whsec_pasted']) {
      await t().done(editGateway, { gatewayId, gatewayKey });
      const now = await answers();
      expect(keysOf(now)).toEqual([
        { ...keys, stripe: '' },
        { ...keys, stripe: '' },
      ]);
      expect(JSON.stringify(now)).not.toMatch(/pasted|hidden/);
    }
    await t().done(archiveGateway, { gatewayId });
    expect(keysOf(await answers())).toEqual([
      { sandbox: '', wire_transfer: '' },
      { sandbox: '', wire_transfer: '' },
    ]);
  });
});

describe('paying', () => {
  it('by a new card in place of a transfer, once however often it is clicked', async () => {
    const userId = await c.userWithCard();
    const { invoiceId, paymentId: transfer } = await wire(userId);
    const paid = await pay(invoiceId, userId, { data: { scenario: 'succeeds' } }, { idempotencyKey: 'click' });
    const again = await Promise.all(
      Array.from({ length: 4 }, () =>
        pay(invoiceId, userId, { data: { scenario: 'succeeds' } }, { idempotencyKey: 'click' }),
      ),
    );
    expect(again).toEqual([paid, paid, paid, paid]);
    await c.drain();
    expect(await detail(invoiceId, userId)).toMatchObject({
      invoice: { status: invoiceStatus.paid, payment: { paymentId: paid.paymentId, status: paymentStatus.success } },
      collecting: null,
    });
    expect((await c.payment(transfer)).status).toBe(paymentStatus.cancelled);
    expect(await c.moneyOf(invoiceId)).toBe(1);
    expect((await t().done(portalMethodList, {}, visitor(userId))).methods).toMatchObject([{ isDefault: true }]);
  });

  it('by another card after a decline, which is then the one that is charged', async () => {
    const { userId, invoiceId } = await c.charged('declines_hard');
    expect((await detail(invoiceId, userId)).invoice.payment?.status).toBe(paymentStatus.failed);
    await pay(invoiceId, userId, { data: { scenario: 'succeeds' } });
    await c.drain();
    expect((await detail(invoiceId, userId)).invoice.status).toBe(invoiceStatus.paid);
    expect(await c.moneyOf(invoiceId)).toBe(1);
  });

  it('by another card than that of the subscription, once that was declined', async () => {
    c.knowPlan(10, { amount: 3000, type: planType.main, intervalUnit: 'month', intervalCount: 1 });
    const userId = await c.userWithCard();
    const { method } = await c.card(userId, 'declines_hard');
    const bought = { userId, planId: 10, gatewayId: c.gatewayId, paymentMethodId: method?.id };
    const { invoiceId } = await t().done(createSubscription, bought);
    await c.drain();
    expect((await detail(invoiceId, userId)).invoice.payment?.status).toBe(paymentStatus.failed);
    await pay(invoiceId, userId, { data: { scenario: 'succeeds' } });
    await c.drain();
    expect((await detail(invoiceId, userId)).invoice.status).toBe(invoiceStatus.paid);
  });

  it('by a saved card, in place of one that waits for its user', async () => {
    const { userId, invoiceId } = await c.charged('needs_action');
    expect((await detail(invoiceId, userId)).collecting?.actionUrl).not.toBe('');
    const { method } = await c.card(userId, 'succeeds');
    await pay(invoiceId, userId, { paymentMethodId: method?.id });
    await c.drain();
    const { invoice } = await detail(invoiceId, userId);
    expect(invoice.status).toBe(invoiceStatus.paid);
    expect(await c.moneyOf(invoiceId)).toBe(1);
  });

  it('by transfer in place of a card', async () => {
    const { userId, invoiceId } = await c.charged('declines_softly');
    await pay(invoiceId, userId, { gatewayId: c.gateway.gatewayId });
    const { transfer, collecting } = await detail(invoiceId, userId);
    expect(transfer).not.toBeNull();
    expect(collecting?.announcedTime).toBe(0);
    await c.receive(invoiceId);
    expect((await detail(invoiceId, userId)).invoice.status).toBe(invoiceStatus.paid);
  });

  it('by the link, without being known', async () => {
    const userId = await c.userWithCard();
    const made = await wire(userId);
    await t().emitted();
    const asked = { token: tokenOf(made), gatewayId: c.gatewayId, data: { scenario: 'succeeds' } };
    const { paymentId } = await t().done(portalInvoicePayLink, asked, { ...nobody, idempotencyKey: 'click' });
    const logged = (await t().emitted()).filter(({ type }) => type === 'operation.logged');
    expect(logged.at(-1)?.data).toMatchObject({ actor: { kind: 'user', id: String(userId) }, content: 'Pay' });
    expect(await t().done(portalInvoicePayLink, asked, { ...nobody, idempotencyKey: 'click' })).toMatchObject({
      paymentId,
    });
    await c.drain();
    const { invoice, gateways } = await t().done(portalInvoiceOpen, { token: asked.token }, nobody);
    expect([invoice.status, gateways.length]).toEqual([invoiceStatus.paid, 2]);
    expect(await c.moneyOf(made.invoiceId)).toBe(1);
  });

  it('by a card that needs action leads to its page, and from there back to the invoice', async () => {
    const userId = await c.userWithCard();
    const { invoiceId } = await wire(userId);
    await pay(invoiceId, userId, { data: { scenario: 'needs_action' } });
    await c.drain();
    const { collecting, invoice } = await detail(invoiceId, userId);
    expect(collecting?.actionUrl).toMatch(/\/gateway\/\d+\/sandbox\//);
    const [payment] = await t().rows('select checkout from payments where payment_id = $1', [
      invoice.payment?.paymentId,
    ]);
    expect(payment?.checkout).toMatchObject({ returnUrl: invoice.link });
  });

  it('at once by 32 means makes one charge', async () => {
    const userId = await c.userWithCard('succeeds');
    const { invoiceId } = await wire(userId);
    const asked = { invoiceId, gatewayId: c.gatewayId };
    const all = await Promise.all(Array.from({ length: 32 }, () => t().call(portalInvoicePay, asked, visitor(userId))));
    expect(all.filter(({ ok }) => ok)).not.toEqual([]);
    await c.drain();
    expect(await c.moneyOf(invoiceId)).toBe(1);
    expect((await detail(invoiceId, userId)).invoice.status).toBe(invoiceStatus.paid);
  });

  it('is refused where there is nothing to pay, or no such way to', async () => {
    const userId = await c.userWithCard();
    const made = await wire(userId);
    const { invoiceId } = made;
    const both = async (over: object, slug: Slug) => {
      await refused(portalInvoicePay, { invoiceId, gatewayId: c.gatewayId, ...over }, slug, visitor(userId));
      await refused(portalInvoicePayLink, { token: tokenOf(made), gatewayId: c.gatewayId, ...over }, slug);
    };
    await refused(portalInvoicePayLink, { token: 'none', gatewayId: 1 }, 'invoice_not_found');
    await both({ gatewayId: 9_999 }, 'gateway_not_found');
    await both({ gatewayId: c.gateway.gatewayId, data: {} }, 'gateway_without_methods');
    const unsaved = { invoiceId, gatewayId: c.gatewayId, paymentMethodId: 'pm_none' };
    await refused(portalInvoicePay, unsaved, 'payment_method_not_found', visitor(userId));
    await t().rows(
      `insert into payment_methods select 15, 'pm_many' || n, $1, $2, 'card', false, '{}', 'x' || n, 1
       from generate_series(1, 50) n`,
      [c.gatewayId, userId],
    );
    await both({ data: { scenario: 'succeeds' } }, 'too_many_payment_methods');
    await t().done(archiveGateway, { gatewayId: c.gatewayId });
    await both({}, 'gateway_archived');
    await t().done(restoreGateway, { gatewayId: c.gatewayId });
    await c.receive(invoiceId);
    await both({}, 'invoice_not_open');
    await both({ data: { scenario: 'succeeds' } }, 'invoice_not_open');
    const unknown = await c.charged('times_out_after_charging');
    await refused(
      portalInvoicePay,
      { invoiceId: unknown.invoiceId, gatewayId: c.gatewayId },
      'payment_exists',
      visitor(unknown.userId),
    );
    await refused(portalInvoicePayLink, { token: tokenOf(unknown.invoice), gatewayId: c.gatewayId }, 'payment_exists');
  });

  it('by a method that is entered on a page of its gateway leads there, and logs that of a user who is new to it', async () => {
    const userId = await c.userWithCard();
    const { invoiceId } = await wire(userId);
    const url = 'https://cards.example/enter';
    const page = { is: 'page', gatewayUserId: 'cus_1', url } as const;
    jest.spyOn(c.sandbox, 'saveMethod').mockResolvedValueOnce(page).mockResolvedValueOnce(page);
    await t().emitted();
    expect(await pay(invoiceId, userId, { data: {} })).toEqual({ paymentId: '', url });
    expect(await t().emitted()).toMatchObject([{ data: { target: `User(${userId})`, content: 'NewPaymentMethod' } }]);
    expect(await pay(invoiceId, userId, { data: {} })).toEqual({ paymentId: '', url });
    expect(await t().emitted()).toEqual([]);
  });

  it('keeps a new card with the payment or not at all, so that nothing charges it in between', async () => {
    const { userId, invoiceId } = await c.charged('times_out_after_charging');
    const held = () => t().rows('select method_id, is_default from payment_methods where user_id = $1', [userId]);
    const before = await held();
    const data = { scenario: 'succeeds' };
    await refused(portalInvoicePay, { invoiceId, gatewayId: c.gatewayId, data }, 'payment_exists', visitor(userId));
    expect(await held()).toEqual(before);

    const another = await c.userWithCard();
    const made = await wire(another);
    const { paymentId } = await pay(made.invoiceId, another, { data });
    const [together] = await t().rows(
      `select count(*) as n from payment_methods m join payments p on p.xmin = m.xmin and p.user_id = m.user_id
       where p.payment_id = $1`,
      [paymentId],
    );
    expect(Number(together?.n)).toBe(1);
  });
});

describe('a transfer that was sent', () => {
  it('is announced once, for the merchant to look out for', async () => {
    const userId = await c.userWithCard();
    const { invoiceId } = await wire(userId);
    await t().emitted();
    await t().done(portalWireSent, { invoiceId }, visitor(userId));
    expect(await t().emitted()).toMatchObject([
      { data: { target: expect.stringMatching(/^Payment/), content: 'MarkTransferSent' } },
    ]);
    const at = c.clock.now();
    c.clock.advance(60);
    await t().done(portalWireSent, { invoiceId }, visitor(userId));
    expect(await t().emitted()).toEqual([]);
    expect((await detail(invoiceId, userId)).collecting?.announcedTime).toBe(at);
    await c.receive(invoiceId);
    await refused(portalWireSent, { invoiceId }, 'invoice_not_open', visitor(userId));
    const cleared = await wire(userId);
    await c.moves.clear(cleared.invoiceId);
    await refused(portalWireSent, cleared, 'invoice_without_payment', visitor(userId));
    const card = await c.charged('declines_softly');
    await refused(portalWireSent, card, 'gateway_not_wire_transfer', visitor(card.userId));
  });
});

it("another's invoice can be neither paid nor announced, and is as unknown as one that does not exist", async () => {
  const userId = await c.userWithCard('succeeds');
  const { invoiceId } = await wire(userId);
  const callers = [visitor(await c.userWithCard('succeeds')), visitor(userId, 16)];
  const before = await c.everything();
  for (const operation of [portalInvoicePay, portalWireSent]) {
    for (const caller of callers) {
      const theirs = await t().call(operation, { invoiceId, gatewayId: c.gatewayId }, caller);
      expect(theirs).toEqual(await t().call(operation, { invoiceId: 'in_none', gatewayId: c.gatewayId }, caller));
      expect(theirs).toMatchObject({ slug: 'invoice_not_found' });
    }
    expect(await t().call(operation, { invoiceId, gatewayId: c.gatewayId })).toMatchObject({
      slug: 'permission_denied',
    });
  }
  expect(await c.everything()).toEqual(before);
});
