import { Controller } from '@nestjs/common';
import {
  type In,
  listSubscriptions,
  portalCancelAtPeriodEnd,
  portalChangeDueDay,
  portalNextInvoice,
  portalPendingUpdateCancel,
  portalResume,
  portalSubscriptionDetail,
  portalSubscriptionList,
  portalUpdatePreview,
  portalUpdateSubmit,
  previewChange,
  submitChange,
} from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { PendingUpdates } from '../subscriptions/changes/pending-updates.js';
import { ChangePreview } from '../subscriptions/changes/preview.js';
import { ChangeSubmit } from '../subscriptions/changes/submit.js';
import { DueDays } from '../subscriptions/cycle/due-day.js';
import { Cancelling } from '../subscriptions/endings/cancel.js';
import { assertOwnSubscription } from '../subscriptions/find.js';
import { NextInvoicePreview } from '../subscriptions/reads/next-invoice.js';
import { SubscriptionReads } from '../subscriptions/reads/subscriptions.js';
import { userOf } from './caller.js';
import { Handlers } from './handlers.js';

type Key = In<typeof portalCancelAtPeriodEnd>;

/** Subscriptions of the calling user: as the merchant's operations, refused as unknown where they are another's. */
@Controller()
export class OwnSubscriptions {
  constructor(
    private readonly db: Db,
    private readonly handlers: Handlers,
    private readonly pending: PendingUpdates,
  ) {}

  @Handle(portalSubscriptionList)
  async list(input: In<typeof portalSubscriptionList>, caller: Caller) {
    const asked = listSubscriptions.input.parse({ ...input, userId: userOf(caller) });
    return portalSubscriptionList.output.parse(await this.handlers.of(SubscriptionReads).list(asked, caller));
  }

  @Handle(portalSubscriptionDetail)
  async detail(key: Key, caller: Caller) {
    await this.assertOwn(key, caller);
    return portalSubscriptionDetail.output.parse(await this.handlers.of(SubscriptionReads).detail(key, caller));
  }

  @Handle(portalNextInvoice)
  async nextInvoice(key: Key, caller: Caller) {
    await this.assertOwn(key, caller);
    return portalNextInvoice.output.parse(
      await this.handlers.of(NextInvoicePreview).preview({ ...key, productId: 0 }, caller),
    );
  }

  @Handle(portalUpdatePreview)
  async previewUpdate(input: In<typeof portalUpdatePreview>, caller: Caller) {
    await this.assertOwn(input, caller);
    return portalUpdatePreview.output.parse(
      await this.handlers.of(ChangePreview).explained(previewChange.input.parse(input), caller),
    );
  }

  @Handle(portalUpdateSubmit)
  update(input: In<typeof portalUpdateSubmit>, caller: Caller) {
    return this.db.write(caller, async tx => {
      await assertOwnSubscription(tx, input.subscriptionId, userOf(caller));
      return portalUpdateSubmit.output.parse(
        await this.handlers.of(ChangeSubmit).submitted(tx, submitChange.input.parse(input), caller),
      );
    });
  }

  @Handle(portalPendingUpdateCancel)
  async cancelUpdate(key: Key, caller: Caller) {
    await this.assertOwn(key, caller);
    return this.pending.cancel(key, caller);
  }

  @Handle(portalCancelAtPeriodEnd)
  async cancelLater(key: Key, caller: Caller) {
    await this.assertOwn(key, caller);
    return this.handlers.of(Cancelling).cancelLater(named(key), caller);
  }

  @Handle(portalResume)
  async resume(key: Key, caller: Caller) {
    await this.assertOwn(key, caller);
    return this.handlers.of(Cancelling).keep(named(key), caller);
  }

  @Handle(portalChangeDueDay)
  changeDueDay(input: In<typeof portalChangeDueDay>, caller: Caller) {
    return this.db.write(caller, async tx => {
      await assertOwnSubscription(tx, input.subscriptionId, userOf(caller));
      return portalChangeDueDay.output.parse(await this.handlers.of(DueDays).changed(tx, input));
    });
  }

  private assertOwn({ subscriptionId }: Key, caller: Caller): Promise<void> {
    return this.db.read(caller, reader => assertOwnSubscription(reader, subscriptionId, userOf(caller)));
  }
}

const named = ({ subscriptionId }: Key) => ({ subscriptionId, userId: 0, productId: 0 });
