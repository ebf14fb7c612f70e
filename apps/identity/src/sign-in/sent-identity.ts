import { Inject, Injectable } from '@nestjs/common';
import { type Caller, CONFIG, Db, Keyring, type Reader } from '@recur/platform';
import type { Config } from '../config.js';
import { type Identity, IdentityTokens } from './identity-tokens.js';
import type { Provider } from './provider-keys.js';
import { type AuthProviderRow, authProviders } from './tables.js';

/** Identities that requests prove with a token of a trusted provider. */
@Injectable()
export class SentIdentity {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    private readonly tokens: IdentityTokens,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** The identity of the token sent with a request; undefined if it is not valid. See IdentityTokens.verify. */
  async of(caller: Caller, email: string): Promise<Identity | undefined> {
    const trusted = await this.db.read(caller, reader => this.trusted(reader));
    return this.tokens.verify(trusted, caller.sender?.identityToken ?? '', email);
  }

  /** The providers that identify the merchant's members; its own come before the deployment's. */
  async trusted(reader: Reader): Promise<Provider[]> {
    const rows = await reader.all(authProviders, { deletedTime: 0 });
    const own = rows.map(row => ({
      ...row,
      secret: row.sealedSecret && this.keyring.open(row.sealedSecret, secretContext(row)),
      isDeployments: false,
    }));
    const { OAUTH_PROVIDER: shared } = this.config;
    return shared ? [...own, shared] : own;
  }
}

/** Additional data of an encrypted secret: binds it to its row. */
export const secretContext = ({ merchantId, id }: AuthProviderRow) =>
  `auth_providers.sealed_secret ${merchantId} ${id}`;
