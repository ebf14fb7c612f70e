import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, type Reader, type Tx } from '@recur/platform';
import { oauthAccounts } from '../sign-in/tables.js';
import type { Member } from './tables.js';
import { setupTokens } from './tables.js';

const tokenBytes = 32;
/** Lifetime of a token. */
const setupSeconds = 259_200;

/**
 * Single-use tokens with which invited members set themselves up. They expire in real time, whatever the merchant's clock
 * says. Callers lock the member's row first.
 */
@Injectable()
export class SetupTokens {
  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  /**
   * Issues a token and returns its only copy, since the database holds a hash, with its expiry. Replaces the member's
   * earlier token.
   */
  async issue(tx: Tx, memberId: number): Promise<{ token: string; expireTime: number }> {
    const token = randomBytes(tokenBytes).toString('base64url');
    const expireTime = this.seconds() + setupSeconds;
    await tx.lockIfAny(setupTokens, { memberId });
    tx.save(setupTokens, { merchantId: tx.merchantId, memberId, tokenHash: tokenHash(token), expireTime, usedTime: 0 });
    return { token, expireTime };
  }

  /** Uses up a token; false if it is not the member's, was used or has expired. */
  async redeem(tx: Tx, memberId: number, token: string): Promise<boolean> {
    const held = await tx.lockIfAny(setupTokens, { memberId });
    if (held?.usedTime !== 0 || held.expireTime <= this.seconds() || held.tokenHash !== tokenHash(token)) return false;
    tx.save(setupTokens, { ...held, usedTime: tx.now });
    return true;
  }

  private seconds = (): number => Math.floor(this.clock.wall() / 1000);

  /** True if a token is the member's latest, valid or not: guesses are refused before anything is locked. */
  async isOf(reader: Reader, memberId: number, token: string): Promise<boolean> {
    return (await reader.find(setupTokens, { memberId, tokenHash: tokenHash(token) })) !== undefined;
  }
}

/** True if a member can sign in already; it then gets no setup token, which would let the inviter sign in as it. */
export async function isSetUp(reader: Reader, { id: memberId, passwordHash }: Member): Promise<boolean> {
  return passwordHash !== null || (await reader.find(oauthAccounts, { memberId, clearedTime: 0 })) !== undefined;
}

const tokenHash = (token: string) => createHash('sha256').update(token).digest('base64url');
