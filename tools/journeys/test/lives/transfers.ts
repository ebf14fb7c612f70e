import { orThrow } from '@recur/client';
import { invoiceStatus } from '@recur/contracts';
import { timeOf } from '../../../simulate/clock.js';
import type { Row } from '../../model/sales.js';
import type { Living } from './living.js';
import { shown } from './texts.js';

/*
 * Wires of subscribers, as they arrive while time passes. A subscription that waited for a step of a round would end unpaid.
 */

/** A transfer: when it arrives for its invoice, and how much of what is due. */
export interface Transfer {
  when: 'soon' | 'begun' | 'last' | 'tooLate';
  pays: 'due' | 'short' | 'much';
  /** Thousandths that arrive of what is due, or beyond it. */
  part: number;
}

export const wireKinds = ['wire', 'wireLate', 'wireTooLate', 'wireShort', 'wireMuch'] as const;
type Kind = (typeof wireKinds)[number];

const HOUR = 3600;
/** Seconds for work that is due at a time. */
const AFTER = 5;

/** Transfers of a subscriber, in turn for each invoice. */
export class Transfers {
  private row: Row | undefined;
  private at = Infinity;
  private made = 0;

  constructor(private readonly all: readonly Transfer[]) {}

  private get transfer(): Transfer {
    return this.all[this.made % this.all.length] ?? { when: 'soon', pays: 'due', part: 0 };
  }

  /** The time at which the next one arrives, or the life has its next step. */
  nextAt({ life }: Living): number {
    const { unpaid } = life;
    if (unpaid?.charge && unpaid !== this.row) {
      const { at, deadline } = unpaid.charge;
      const last = deadline - HOUR / 2;
      const begun = (Math.max(unpaid.start, at) + deadline) / 2;
      const times = { soon: at, begun, last, tooLate: deadline + HOUR };
      [this.row, this.at] = [unpaid, Math.floor(Math.max(times[this.transfer.when], at))];
    }
    return Math.min(this.at, life.nextAt);
  }

  /** Marks the transfer that has arrived by now, if there is one. Returns its kinds. */
  async arrive(subscriber: Living): Promise<Kind[]> {
    const { life, seller } = subscriber;
    life.live(await timeOf(seller.api));
    this.nextAt(subscriber);
    const { row, transfer } = this;
    if (!row || life.now < this.at) return [];
    this.at = Infinity;
    this.made++;
    if (row === life.unpaid) return receive(subscriber, row, transfer);
    return row.doc?.state === 'failed' ? refused(subscriber) : [];
  }
}

async function receive(subscriber: Living, row: Row, { when, pays, part }: Transfer): Promise<Kind[]> {
  const { life } = subscriber;
  const due = row.doc ? row.doc.total - row.doc.spent : 0n;
  const share = (due * BigInt(part) + 999n) / 1000n;
  const arrived = pays === 'due' ? due : pays === 'short' ? share : due + share;
  const invoiceId = await invoiceOf(subscriber, invoiceStatus.processing);
  const isLate = life.status === 'incomplete';
  await mark(subscriber, invoiceId, { amountReceived: Number(arrived), acceptShort: arrived < due });
  if (arrived > due) subscriber.forgetPreview();
  life.receive(row, arrived);
  subscriber.trace.push(`${shown(life.now)} wire, ${when}: ${arrived} of ${due}`);
  const amounts: Kind[] = arrived < due ? ['wireShort'] : arrived > due ? ['wireMuch'] : [];
  return [isLate ? 'wireLate' : 'wire', ...amounts];
}

/** Marks what is due, or an amount, as received. */
export async function mark(
  { seller }: Living,
  invoiceId: string,
  over: { amountReceived?: number; acceptShort?: boolean } = {},
): Promise<void> {
  const transfer = { invoiceId, transferNumber: 'T-1', ...over };
  orThrow(await seller.api.post('/merchant/invoice/mark_wire_transfer_success', transfer));
}

/** A transfer for an invoice that has failed is not taken: everything stays as it is. */
async function refused(subscriber: Living): Promise<Kind[]> {
  const { life, seller, trace } = subscriber;
  const invoiceId = await invoiceOf(subscriber, invoiceStatus.failed);
  const transfer = { invoiceId, transferNumber: 'T-1' };
  const answer = await seller.api.post('/merchant/invoice/mark_wire_transfer_success', transfer);
  const outcome = answer.ok ? 'taken' : answer.error.type;
  trace.push(`${shown(life.now)} wire after the deadline: ${outcome}`);
  if (outcome !== 'invoice_not_open') throw new Error(trace.join('\n'));
  return ['wireTooLate'];
}

/** The newest invoice of a status that is not free. */
async function invoiceOf(subscriber: Living, status: number): Promise<string> {
  const found = (await subscriber.documents()).find(each => each.status === status && each.totalAmount > 0);
  if (!found) throw new Error([`no invoice at ${status}`, ...subscriber.trace].join('\n'));
  return found.invoiceId;
}

/** Lets time pass until a time, while transfers arrive. Tells the kinds of each. */
export async function pass(
  { seller, subscribers }: { seller: Living['seller']; subscribers: readonly (Living & { transfers: Transfers })[] },
  until: number,
  tell: (kind: Kind) => void,
): Promise<void> {
  const byWire = subscribers.filter(({ life }) => life.isByWire);
  for (;;) {
    const times = byWire.map(each => each.transfers.nextAt(each) + AFTER);
    const at = times.reduce((first, time) => Math.min(first, time), Infinity);
    if (at >= until) break;
    await seller.to(at);
    for (const each of byWire) for (const kind of await each.transfers.arrive(each)) tell(kind);
  }
  await seller.to(until);
}
