import { Controller, Inject } from '@nestjs/common';
import { deleteAuthProvider, editAuthProvider, type In, listAuthProviders, newAuthProvider } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, CONFIG, checkUrl, Db, Handle, Keyring, type Tx } from '@recur/platform';
import { addressRules, type Config } from '../config.js';
import { covers, grantOfCaller } from '../members/grants.js';
import { merchants } from '../merchants/tables.js';
import { providerAggregate, providerView } from './aggregate.js';
import { chosenAlgorithms, defaultSalt, keySourceOf } from './provider-keys.js';
import { isOtherKey, unlinkIssuers } from './provider-trust.js';
import { secretContext } from './sent-identity.js';
import { type AuthProviderRow, authProviders } from './tables.js';

const providersPerMerchant = 20;

type Settings = Pick<
  In<typeof editAuthProvider>,
  'name' | 'issuer' | 'audience' | 'algorithms' | 'authJsSalt' | 'jwksUrl' | 'publicKey' | 'secret' | 'authJsSecret'
>;

/** The identity providers of a merchant, beside the deployment's. */
@Controller()
export class AuthProviders {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(listAuthProviders)
  list(_input: object, caller: Caller) {
    return this.db.read(caller, async reader => {
      const rows = await reader.all(authProviders, { deletedTime: 0 }, 'order by create_time desc, id desc');
      return { authProviders: rows.map(providerView) };
    });
  }

  @Handle(newAuthProvider)
  create(input: In<typeof newAuthProvider>, caller: Caller) {
    return this.db.write(caller, async tx => {
      // serializes creation, so that the count is exact
      await tx.lockIfAny(merchants, {});
      const [held, id] = await Promise.all([tx.all(authProviders, { deletedTime: 0 }), tx.nextId(authProviders)]);
      if (held.length >= providersPerMerchant) throw new Rejected('too_many_auth_providers');
      const { merchantId, now: createTime } = tx;
      const granted = await grantOfCaller(tx, caller);
      const blank: AuthProviderRow = {
        merchantId,
        id,
        name: '',
        issuer: '',
        audience: '',
        keySource: 'jwks',
        algorithms: [],
        jwksUrl: '',

        publicKey: '',
        sealedSecret: '',
        authJsSalt: defaultSalt,
        granted,
        createTime,
        deletedTime: 0,
        version: 0,
      };
      const row = this.changed(blank, input);
      await unlinkIssuers(tx, [row.issuer]);
      refuseTakenIssuer(tx);
      return { authProvider: tx.step(providerAggregate, row, 'provider.created', { log: 'New' }).view };
    });
  }

  @Handle(editAuthProvider)
  edit({ authProviderId: id, ...settings }: In<typeof editAuthProvider>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(providerAggregate, { id, deletedTime: 0 }, 'auth_provider_not_found');
      const edited = this.changed(row, settings);
      const next = { ...edited, granted: await this.grantAfter(tx, caller, row, edited, settings) };
      if (JSON.stringify(next) === JSON.stringify(row)) return { authProvider: providerView(row) };
      if (isOtherKey(row, next)) await unlinkIssuers(tx, [row.issuer, next.issuer]);
      refuseTakenIssuer(tx);
      return { authProvider: tx.step(providerAggregate, next, 'provider.updated', { log: 'Edit' }).view };
    });
  }

  @Handle(deleteAuthProvider)
  remove({ authProviderId: id }: In<typeof deleteAuthProvider>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(providerAggregate, { id, deletedTime: 0 }, 'auth_provider_not_found');
      await unlinkIssuers(tx, [row.issuer]);
      // a deleted provider keeps no secret
      const deleted = { ...row, sealedSecret: '', deletedTime: tx.now };
      tx.step(providerAggregate, deleted, 'provider.deleted', { log: 'Delete' });
      return {};
    });
  }

  /**
   * The grant that an edited provider records: the caller's if it changes which tokens are accepted, or sends the present
   * key again and may do at least as much as whoever set it; else the former one.
   */
  private async grantAfter(tx: Tx, caller: Caller, row: AuthProviderRow, next: AuthProviderRow, sent: Settings) {
    const grant = await grantOfCaller(tx, caller);
    const changesTokens = isOtherKey(row, next) || row.audience !== next.audience || row.authJsSalt !== next.authJsSalt;
    const confirmsKey = keySourceOf(sent) !== undefined && covers(grant, row.granted);
    return changesTokens || confirmsKey ? grant : row.granted;
  }

  /** The row with the sent settings applied. Rejects `invalid_parameters`, naming the field. */
  private changed(row: AuthProviderRow, sent: Settings): AuthProviderRow {
    const { issuer = row.issuer, audience = row.audience } = sent;
    const name = sent.name || (row.name === row.issuer ? issuer : row.name);
    const next = {
      ...row,
      name,
      issuer,
      audience,
      authJsSalt: sent.authJsSalt || row.authJsSalt,
      ...this.key(row, sent),
    };
    if (next.keySource !== 'authJs' && audience.trim() === '') throw invalid('/audience', 'audience is required');
    return { ...next, algorithms: chosenAlgorithms(next, sent.algorithms, row.algorithms) };
  }

  /** The fields of the sent key, which replaces the former one of any kind; {} if none is sent. */
  private key(row: AuthProviderRow, sent: Settings): Partial<AuthProviderRow> {
    const keySource = keySourceOf(sent);
    if (keySource === undefined) return {};
    const { jwksUrl = '', publicKey = '', secret = sent.authJsSecret } = sent;
    const problem = jwksUrl && checkUrl(jwksUrl, addressRules(this.config));
    if (problem) throw invalid('/jwksUrl', `jwksUrl ${problem}`);
    const isSame = secret !== undefined && this.isSecretOf(row, secret);
    const sealedSecret =
      secret === undefined ? '' : isSame ? row.sealedSecret : this.keyring.seal(secret, secretContext(row));
    return { keySource, jwksUrl, publicKey, sealedSecret };
  }

  private isSecretOf(row: AuthProviderRow, secret: string): boolean {
    return row.sealedSecret !== '' && this.keyring.open(row.sealedSecret, secretContext(row)) === secret;
  }
}

function refuseTakenIssuer(tx: Tx): void {
  tx.onConflict('auth_providers_issuer', () => invalid('/issuer', 'Another provider has this issuer'));
  tx.onConflict('auth_providers_one_authjs', () =>
    invalid('/authJsSecret', 'The merchant has an Auth.js provider already, and Auth.js tokens do not name theirs'),
  );
}
