import { Controller } from '@nestjs/common';
import { everything, type In, listApiKeys, newApiKey, revokeApiKey } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { refuseExcess } from '../members/grants.js';
import { MerchantKeys } from './merchant-keys.js';

/** The merchant's own API keys. */
@Controller()
export class ApiKeys {
  constructor(
    private readonly db: Db,
    private readonly keys: MerchantKeys,
  ) {}

  @Handle(newApiKey)
  create(_input: In<typeof newApiKey>, caller: Caller) {
    return this.db.write(caller, async tx => {
      // an API key acts as the owner, so that no other member may have one
      await refuseExcess(tx, caller, everything);
      return { apiKey: (await this.keys.rotateIn(tx, caller)).apiKey };
    });
  }

  @Handle(listApiKeys)
  async list(_input: In<typeof listApiKeys>, caller: Caller) {
    return { apiKeys: await this.keys.list(caller) };
  }

  @Handle(revokeApiKey)
  revoke({ apiKeyId }: In<typeof revokeApiKey>, caller: Caller) {
    return this.db.write(caller, async tx => {
      await this.keys.revokeIn(tx, caller, apiKeyId);
      return {};
    });
  }
}
