import { Controller } from '@nestjs/common';
import {
  createSubscription,
  type In,
  listSubscriptions,
  portalCancelAtPeriodEnd,
  portalChangeDueDay,
  portalCreatePreview,
  portalCreateSubmit,
  portalGatewayList,
  portalNextInvoice,
  portalPendingUpdateCancel,
  portalResume,
  portalSubscriptionDetail,
  portalSubscriptionList,
  portalUpdatePreview,
  portalUpdateSubmit,
  previewChange,
  previewSubscription,
  submitChange,
} from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { Gateways } from '../gateways/gateways.js';
import { PendingUpdates } from '../subscriptions/change/pending-updates.js';
import { ChangePreview } from '../subscriptions/change/preview.js';
import { ChangeSubmit } from '../subscriptions/change/submit.js';
import { CancelSubscription } from '../subscriptions/course/cancel.js';
import { DueDays } from '../subscriptions/course/course.js';
import { CreateSubscription } from '../subscriptions/create/create.js';
import { CreatePreview } from '../subscriptions/create/preview.js';
import { assertOwnSubscription } from '../subscriptions/find.js';
import { NextInvoicePreview } from '../subscriptions/reads/next-invoice.js';
import { SubscriptionReads } from '../subscriptions/reads/subscriptions.js';
import { callingUser, Handlers } from './handlers.js';

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
    const asked = listSubscriptions.input.parse({ ...input, userId: callingUser(caller) });
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
      await assertOwnSubscription(tx, input.subscriptionId, callingUser(caller));
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
    return this.handlers.of(CancelSubscription).cancelLater(keyOfSubscription(key), caller);
  }

  @Handle(portalResume)
  async resume(key: Key, caller: Caller) {
    await this.assertOwn(key, caller);
    return this.handlers.of(CancelSubscription).keep(keyOfSubscription(key), caller);
  }

  @Handle(portalChangeDueDay)
  changeDueDay(input: In<typeof portalChangeDueDay>, caller: Caller) {
    return this.db.write(caller, async tx => {
      await assertOwnSubscription(tx, input.subscriptionId, callingUser(caller));
      return portalChangeDueDay.output.parse(await this.handlers.of(DueDays).changed(tx, input));
    });
  }

  private assertOwn({ subscriptionId }: Key, caller: Caller): Promise<void> {
    return this.db.read(caller, reader => assertOwnSubscription(reader, subscriptionId, callingUser(caller)));
  }
}

const keyOfSubscription = ({ subscriptionId }: Key) => ({ subscriptionId, userId: 0, productId: 0 });

/** The checkout: as the merchant's operations, of the calling user, and without what only a merchant decides. */
@Controller()
export class PortalPurchase {
  constructor(
    private readonly db: Db,
    private readonly handlers: Handlers,
  ) {}

  @Handle(portalGatewayList)
  async gatewayList(_input: In<typeof portalGatewayList>, caller: Caller) {
    callingUser(caller);
    return portalGatewayList.output.parse({ gateways: await this.handlers.of(Gateways).offered(caller) });
  }

  @Handle(portalCreatePreview)
  async preview(input: In<typeof portalCreatePreview>, caller: Caller) {
    const asked = previewSubscription.input.parse({ ...input, userId: callingUser(caller) });
    return portalCreatePreview.output.parse(await this.handlers.of(CreatePreview).explained(asked, caller));
  }

  @Handle(portalCreateSubmit)
  submit(input: In<typeof portalCreateSubmit>, caller: Caller) {
    const asked = createSubscription.input.parse({ ...input, userId: callingUser(caller) });
    return this.db.write(caller, async tx =>
      portalCreateSubmit.output.parse(await this.handlers.of(CreateSubscription).created(tx, asked, caller)),
    );
  }
}
