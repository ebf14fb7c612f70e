import { type AuthProvider, events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { type AuthProviderRow, authProviders } from './tables.js';

const masked = '••••••••';

export const providerAggregate = aggregate({
  name: 'provider',
  title: 'AuthProvider',
  events,
  table: authProviders,
  key: 'id',
  view: providerView,
});

/** A provider as the API shows it, its secret masked. */
export function providerView({
  sealedSecret,
  granted: _,
  deletedTime: __,
  version: ___,
  ...row
}: AuthProviderRow): AuthProvider {
  return { ...row, secret: sealedSecret && masked, authJsSalt: row.keySource === 'authJs' ? row.authJsSalt : '' };
}
