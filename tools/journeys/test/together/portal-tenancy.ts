import { beforeAll, describe, expect, it } from '@jest/globals';
import { anyUser, type Operation, operations } from '@recur/contracts';
import { z } from 'zod';
import type { Answer } from '../../wire.js';
import { type Field, fieldsOf, queryOf, schemaOf, withAt } from '../requests.js';
import { type Stand, sharedStand, withoutRequestId } from '../stand.js';
import { inputOf, openPlace, type Place, type Visitor, visit } from '../visitors.js';
import { type Id, unknownLike } from '../world.js';

/** Fields that name an object of one user: neither another user of the merchant nor another merchant's may reach it. */
const ofUser: readonly string[] = ['invoiceId', 'subscriptionId', 'paymentMethodId'];
/** Fields that name an object of the merchant, which all its users may. */
const ofMerchant: readonly string[] = [
  'planId',
  'newPlanId',
  'addonPlanId',
  'productId',
  'gatewayId',
  'checkoutId',
  'discountCode',
];

const portal = operations.filter(({ permission }) => permission === anyUser);
const isId = ({ name }: Field) => /Ids?$/.test(name) || ofMerchant.includes(name);
const idsIn = (operation: Operation) => fieldsOf(schemaOf(operation)).filter(isId);

/** Fields of operations that look like an id and of which nothing is known here. */
const uncovered = (operations: readonly Operation[]) =>
  operations.flatMap(operation =>
    idsIn(operation)
      .filter(({ name }) => !ofUser.includes(name) && !ofMerchant.includes(name))
      .map(({ name }) => `${operation.name} ${name}`),
  );

let stand: Stand;
let here: Place;
let there: Place;

beforeAll(async () => {
  stand = await sharedStand();
  here = await openPlace(stand, 'Pages here');
  there = await openPlace(stand, 'Pages there');
});

const send = ({ wire }: Visitor, { path }: Operation, method: string, input: unknown) =>
  method === 'GET' ? wire.request(`${path}?${queryOf(input)}`) : wire.send(path, input as object);

/** Everything that a visitor sees of their own. */
async function seenBy({ wire, own }: Visitor): Promise<string[]> {
  const paths = [
    `/portal/invoice/detail?invoiceId=${own.invoiceId}`,
    `/portal/subscription/detail?subscriptionId=${own.subscriptionId}`,
    '/portal/invoice/list',
    '/portal/payment_method/list',
    '/portal/user/detail',
  ];
  const answers = await Promise.all(paths.map(path => wire.request(path)));
  for (const { status, text } of answers) expect([status, text]).toEqual([200, text]);
  return answers.map(withoutRequestId);
}

/** An answer without the word that it repeats of the question, and without the period of a preview, which begins now. */
const stripped = (answer: Answer, id: Id) =>
  withoutRequestId(answer)
    .replaceAll(typeof id === 'string' ? id : ' ', '')
    .replace(/"(createTime|periodStart|periodEnd)":\d+/g, '');

/** Differences between an operation's answers about others' objects and about an unknown one; and none about an own one. */
async function toldBy(operation: Operation, field: Field, visitor: Visitor, others: readonly Visitor[]) {
  const base = await inputOf(operation, visitor, field.name);
  const known = visitor.own[field.name] as Id;
  const told: string[] = [];
  for (const method of operation.methods) {
    const ask = async (id: Id) => stripped(await send(visitor, operation, method, withAt(base, field.path, id)), id);
    const what = `${method} ${operation.name} ${field.path.join('.')}`;
    const unknown = await ask(unknownLike(known));
    for (const { own } of others) {
      const their = await ask(own[field.name] as Id);
      if (their !== unknown) told.push(`${what}: ${their} ≠ ${unknown}`);
    }
    const mine = await ask(known);
    if (mine === unknown) told.push(`${what} tells nothing of an own one: ${mine}`);
  }
  return told;
}

describe('operations of the hosted pages', () => {
  it('name objects only in fields that are known here', () => {
    expect(uncovered(portal)).toEqual([]);
    expect(portal.flatMap(idsIn).length).toBeGreaterThan(25);
    const planted = { ...(portal[0] as Operation), name: 'portal.receipt', input: z.object({ receiptId: z.string() }) };
    expect(uncovered([planted])).toEqual(['portal.receipt receiptId']);
  });

  it("answer another user's and another merchant's objects as unknown ones, byte for byte, and leave them as they are", async () => {
    const [reader, neighbour, stranger] = await Promise.all([visit(here), visit(here), visit(there)]);
    await stand.quiet();
    const before = await Promise.all([neighbour, stranger].map(seenBy));
    const told: string[] = [];
    for (const operation of portal) {
      for (const field of idsIn(operation)) {
        const visitor = operation.effect === 'read' ? reader : await visit(here);
        const others = ofUser.includes(field.name) ? [neighbour, stranger] : [stranger];
        told.push(...(await toldBy(operation, field, visitor, others)));
      }
    }
    expect(told).toEqual([]);
    await stand.quiet();
    expect(await Promise.all([neighbour, stranger].map(seenBy))).toEqual(before);
  });

  it('would be seen to answer otherwise: one who is asked about as another is the caller', async () => {
    const visitor = await visit(here);
    const detail = portal.find(({ name }) => name === 'portal.invoice_detail') as Operation;
    const [field] = idsIn(detail) as [Field];
    expect(await toldBy(detail, field, visitor, [visitor])).toEqual([expect.stringContaining('invoice_not_found')]);
  });
});
