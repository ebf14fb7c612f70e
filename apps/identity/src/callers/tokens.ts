import { importJWK, type JWTPayload, SignJWT } from 'jose';
import type { Config } from '../config.js';
import type { Signer } from './callers.js';

/** What a token is: no kind is taken for another. */
type Kind = 'api-key+jwt' | 'member+jwt' | 'client+jwt';

/** A token of this deployment. `iat` and `exp` are in unix seconds, of whichever clock the kind goes by. */
export async function signToken(
  { kid, privateKey }: Signer,
  { TOKEN_ISSUER, RECUR_ENV }: Pick<Config, 'TOKEN_ISSUER' | 'RECUR_ENV'>,
  kind: Kind,
  claims: JWTPayload & { sub: string; iat: number },
): Promise<string> {
  return new SignJWT({ ...claims, iss: TOKEN_ISSUER, aud: 'recur', env: RECUR_ENV })
    .setProtectedHeader({ alg: 'EdDSA', typ: kind, kid })
    .sign(await importJWK(privateKey, 'EdDSA'));
}
