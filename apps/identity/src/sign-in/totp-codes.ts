import { hash, randomBytes } from 'node:crypto';
import { generateSecret, generateURI, verifySync } from 'otplib';

const limits = { keyBytes: 20, stepSeconds: 30, recoveryCodes: 10, recoveryBytes: 10 } as const;

/** A key for an authenticator app, in base32 (RFC 4226 §4: 160 bits). */
export const newTotpKey = (): string => generateSecret({ length: limits.keyBytes });

/** What an authenticator app reads from a QR code. */
export const totpUrl = (key: string, issuer: string, label: string): string =>
  generateURI({ issuer, label, secret: key });

/**
 * The time step (RFC 6238 §4) of which a six-digit code is that of the key; now, the one before and the one after count.
 * `at` is in unix seconds.
 */
export function stepOfCode(key: string, code: string, at: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const result = verifySync({ secret: key, token: code, epoch: at, epochTolerance: limits.stepSeconds });
  return result.valid ? Math.floor(at / limits.stepSeconds) + result.delta : undefined;
}

/** Codes for the day that the device is lost, each of 80 bits: `7f3a-…`; of them the hashes are kept. */
export function newRecoveryCodes(): { codes: string[]; hashes: string[] } {
  const codes = Array.from({ length: limits.recoveryCodes }, () =>
    (randomBytes(limits.recoveryBytes).toString('hex').match(/.{4}/g) ?? []).join('-'),
  );
  return { codes, hashes: codes.map(hashOfRecoveryCode) };
}

/** Signs and letter case that people add or leave out do not count. */
export const hashOfRecoveryCode = (code: string): string =>
  hash('sha256', code.toLowerCase().replace(/[^0-9a-f]/g, ''), 'base64url');
