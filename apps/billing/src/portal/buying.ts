import { Controller } from '@nestjs/common';
import {
  createSubscription,
  type In,
  portalCreatePreview,
  portalCreateSubmit,
  portalGatewayList,
  previewSubscription,
} from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { Gateways } from '../gateways/gateways.js';
import { Subscribing } from '../subscriptions/create/create.js';
import { SubscribingPreview } from '../subscriptions/create/preview.js';
import { userOf } from './caller.js';
import { Handlers } from './handlers.js';

/** The checkout: as the merchant's operations, of the calling user, and without what only a merchant decides. */
@Controller()
export class Buying {
  constructor(
    private readonly db: Db,
    private readonly handlers: Handlers,
  ) {}

  @Handle(portalGatewayList)
  async gatewayList(_input: In<typeof portalGatewayList>, caller: Caller) {
    userOf(caller);
    return portalGatewayList.output.parse({ gateways: await this.handlers.of(Gateways).offered(caller) });
  }

  @Handle(portalCreatePreview)
  async preview(input: In<typeof portalCreatePreview>, caller: Caller) {
    const asked = previewSubscription.input.parse({ ...input, userId: userOf(caller) });
    return portalCreatePreview.output.parse(await this.handlers.of(SubscribingPreview).explained(asked, caller));
  }

  @Handle(portalCreateSubmit)
  submit(input: In<typeof portalCreateSubmit>, caller: Caller) {
    const asked = createSubscription.input.parse({ ...input, userId: userOf(caller) });
    return this.db.write(caller, async tx =>
      portalCreateSubmit.output.parse(await this.handlers.of(Subscribing).created(tx, asked, caller)),
    );
  }
}
