import { Controller } from '@nestjs/common';
import { addTrialTime, type In } from '@recur/contracts';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { InvoiceEndings } from '../../invoicing/endings.js';
import { InvoiceOwners } from '../../invoicing/owners.js';
import { subscriptionAggregate } from '../aggregate.js';
import { ChangeEffects } from '../changes/effects.js';
import { pendingUpdates } from '../changes/tables.js';
import { moved, type Subscription } from '../domain/subscription.js';
import { addPeriod, periodsFrom } from '../periods.js';
import { scheduleNext } from '../schedule.js';
import { subscriptionPeriods } from '../tables.js';
import { extended, movedAfter } from './extension.js';

/** subscription/add_new_trial_start. */
@Controller()
export class TrialTime {
  constructor(
    private readonly db: Db,
    private readonly changes: ChangeEffects,
    private readonly endings: InvoiceEndings,
    private readonly owners: InvoiceOwners,
  ) {}

  @Handle(addTrialTime)
  add({ subscriptionId, appendTrialEndHour }: In<typeof addTrialTime>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const before = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      const { sub, free } = extended(before, appendTrialEndHour, tx.now);
      const log = `AddNewTrialEnd: ${before.trialEnd} -> ${sub.trialEnd}`;
      const isUnpaid = before.status === 'incomplete' || before.status === 'processing';
      const after = isUnpaid ? { ...moved(sub, 'activate', tx.now), currentPeriodPaid: 1, dunningTime: 0 } : sub;
      const rows = await periodsFrom(tx, subscriptionId, before.currentPeriodStart);
      const current = rows.find(({ startAt }) => startAt === before.currentPeriodStart);
      const replaced = isUnpaid && current?.state === 'open' ? current.invoiceId : '';
      const saved = { ...after, ...(replaced !== '' && { latestInvoiceId: '' }) };
      tx.step(subscriptionAggregate, saved, 'subscription.updated', { log });
      if (isUnpaid) await this.activated(tx, subscriptionId);
      if (current && replaced !== '') {
        tx.save(subscriptionPeriods, { ...current, kind: 'free', state: 'paid', invoiceId: '' });
        const invoice = await this.owners.lock(tx, { invoiceId: replaced }, 'invoice_not_found');
        if (invoice.status === 'processing') await this.endings.cancel(tx, invoice);
      }
      if (free) {
        const ahead = rows.find(({ startAt, state }) => startAt === before.currentPeriodEnd && state === 'paid');
        if (ahead) tx.save(subscriptionPeriods, movedAfter(sub, ahead));
        else await this.changes.withdrawNext(tx, before);
        const { kind, start: startAt, end: endAt } = free;
        const { userId } = sub;
        await addPeriod(tx, { subscriptionId, userId, kind, startAt, endAt, invoiceId: '', state: 'paid' });
      }
      await moveDeferred(tx, sub);
      scheduleNext(tx, after);
      return {};
    });
  }

  private async activated(tx: Tx, subscriptionId: string): Promise<void> {
    const active = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
    const firstPaidTime = active.firstPaidTime || tx.now;
    tx.step(subscriptionAggregate, { ...active, firstPaidTime }, 'subscription.activated');
  }
}

/** A change that waits for the end of the period waits for the new one. */
async function moveDeferred(tx: Tx, { pendingUpdateId, currentPeriodEnd }: Subscription): Promise<void> {
  const update = pendingUpdateId ? await tx.lockIfAny(pendingUpdates, { pendingUpdateId }) : undefined;
  if (update?.status === 'pending' && update.effectImmediate === 0) {
    tx.save(pendingUpdates, { ...update, effectTime: currentPeriodEnd });
  }
}
