import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Reader, Tx } from '@recur/platform';
import { oauthAccounts } from '../sign-in/tables.js';
import type { Member } from './tables.js';
import { setupTokens } from './tables.js';

const limits = { tokenBytes: 32 } as const;
/** How long a token holds. */
export const setupSeconds = 259_200;

/** What an invited member shows once to set itself up. The member's row is locked by whoever uses these. */
@Injectable()
export class SetupTokens {
  /** A new token, which is its only copy: of it, a hash is kept. The member's earlier one holds no more. */
  async issue(tx: Tx, memberId: number): Promise<string> {
    const token = randomBytes(limits.tokenBytes).toString('base64url');
    const expireTime = tx.now + setupSeconds;
    await tx.lockIfAny(setupTokens, { memberId });
    tx.save(setupTokens, { merchantId: tx.merchantId, memberId, tokenHash: hashOf(token), expireTime, usedTime: 0 });
    return token;
  }

  /** Takes a token, which then holds no more; false where it is not the member's, was used or is too old. */
  async redeem(tx: Tx, memberId: number, token: string): Promise<boolean> {
    const held = await tx.lockIfAny(setupTokens, { memberId });
    if (held?.usedTime !== 0 || held.expireTime <= tx.now || held.tokenHash !== hashOf(token)) return false;
    tx.save(setupTokens, { ...held, usedTime: tx.now });
    return true;
  }

  /** Whether a token is the member's, though it may hold no more: who guesses is told before anything is locked. */
  async isOf(reader: Reader, memberId: number, token: string): Promise<boolean> {
    return (await reader.find(setupTokens, { memberId, tokenHash: hashOf(token) })) !== undefined;
  }
}

/** Whether a member has a way in, and so needs no other, which whoever may invite members could give away. */
export async function isSetUp(reader: Reader, { id: memberId, passwordHash }: Member): Promise<boolean> {
  return passwordHash !== null || (await reader.find(oauthAccounts, { memberId, clearedTime: 0 })) !== undefined;
}

const hashOf = (token: string) => createHash('sha256').update(token).digest('base64url');
