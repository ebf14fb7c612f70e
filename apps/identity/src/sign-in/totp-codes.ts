import { hash, randomBytes } from 'node:crypto';
import { generateSecret, generateURI, verifySync } from 'otplib';

const keyBytes = 20;
const stepSeconds = 30;
const recovery = { codes: 10, bytes: 10 } as const;

/** A key for an authenticator app, in base32 (RFC 4226 §4: 160 bits). */
export const newTotpKey = (): string => generateSecret({ length: keyBytes });

/** The otpauth URL that an authenticator app reads from a QR code. */
export const totpUrl = (key: string, issuer: string, label: string): string =>
  generateURI({ issuer, label, secret: key });

/**
 * The time step (RFC 6238 §4) at which the key yields a six-digit code: the current one, the one before or the one after;
 * undefined for a wrong code. `at` is in unix seconds.
 */
export function stepOfCode(key: string, code: string, at: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const result = verifySync({ secret: key, token: code, epoch: at, epochTolerance: stepSeconds });
  return result.valid ? Math.floor(at / stepSeconds) + result.delta : undefined;
}

/** Recovery codes of 80 bits each (`7f3a-…`), and the hashes to store. */
export function newRecoveryCodes(): { codes: string[]; hashes: string[] } {
  const codes = Array.from({ length: recovery.codes }, () =>
    (randomBytes(recovery.bytes).toString('hex').match(/.{4}/g) ?? []).join('-'),
  );
  return { codes, hashes: codes.map(hashOfRecoveryCode) };
}

/** Hash of a recovery code, ignoring letter case and separators. */
export const hashOfRecoveryCode = (code: string): string =>
  hash('sha256', code.toLowerCase().replace(/[^0-9a-f]/g, ''), 'base64url');
