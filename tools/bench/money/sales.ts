import { randomUUID } from 'node:crypto';
import { type Client, orThrow } from '@recur/client';
import { newUser } from '../../journeys/shop.js';
import { wireTransfer } from '../usage-shop.js';

const connections = 16;

/** A finished invoice of 96.39 EUR in three lines. */
export interface Sale {
  invoiceId: string;
  paymentId: string;
  /** Signed link of its PDF. */
  gatewayInvoicePdf: string;
}

/** Finished invoices of one user, each with a wire transfer that is awaited. */
export async function finishedInvoices(api: Client, count: number): Promise<Sale[]> {
  const gatewayId = await wireTransfer(api);
  const userId = await newUser(api);
  return concurrently(count, () => finished(api, userId, gatewayId));
}

/** Finished invoices of one user whose wire transfers have arrived. */
export async function paidInvoices(api: Client, count: number): Promise<Sale[]> {
  const gatewayId = await wireTransfer(api);
  const userId = await newUser(api);
  return concurrently(count, async () => {
    const sale = await finished(api, userId, gatewayId);
    const transfer = { invoiceId: sale.invoiceId, transferNumber: randomUUID() };
    orThrow(await api.post('/merchant/invoice/mark_wire_transfer_success', transfer));
    return sale;
  });
}

async function finished(api: Client, userId: number, gatewayId: number): Promise<Sale> {
  const { invoice } = orThrow(
    await api.post('/merchant/invoice/new', {
      userId,
      gatewayId,
      currency: 'EUR',
      taxPercentage: 1900,
      finish: true,
      lines: ['Pro plan', 'Extra seat', 'Overage'].map(name => ({ name, quantity: 3, unitAmountExcludingTax: 900 })),
    }),
  );
  return invoice;
}

async function concurrently<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  let begun = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (begun++ < count) made.push(await make());
    }),
  );
  return made;
}
