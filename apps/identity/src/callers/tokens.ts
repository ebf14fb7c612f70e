import { importJWK, type JWTPayload, SignJWT } from 'jose';
import type { Config } from '../config.js';
import type { Signer } from './signing-keys.js';

/** The `typ` of a token: verifiers check it, so that no kind passes for another. */
type Kind = 'api-key+jwt' | 'member+jwt' | 'client+jwt' | 'user+jwt';

/** Signs a token of this deployment. `iat` and `exp` are unix seconds, on the clock that the kind goes by. */
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
