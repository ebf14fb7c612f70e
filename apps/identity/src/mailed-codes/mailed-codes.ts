import { randomInt, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  type Caller,
  CLOCK,
  type Clock,
  Db,
  Keyring,
  type Removal,
  removedAtOnce,
  type Tx,
  type WorkItem,
} from '@recur/platform';
import { emailKey } from '../domain/email.js';
import { emailHash as hashOf } from '../members/member-rows.js';
import { refused } from '../sign-in/entry.js';
import { type CodePurpose, type MailedCode, mailedCodes } from './tables.js';

/** The kind of work that makes and sends a code; its key is `<purpose>_<hash of the e-mail>`. */
export const CODE_WORK = 'sign_in.code';
/** The purpose of the signatures that stand for codes. */
const signed = 'mailed code';

const limits = { seconds: 600, tries: 5 } as const;
const digits = 8;

/** A right code that took one of its tries. */
export type Proof = Pick<MailedCode, 'purpose' | 'emailHash' | 'codeHash'>;

/** A code on its way. */
export interface MadeCode extends Pick<MailedCode, 'purpose' | 'email' | 'emailHash' | 'request'> {
  code: string;
}

const codeWhere = 'purpose = $1 and email_hash = $2';
const requestText = `insert into mailed_codes
    (purpose, email_hash, email, request, code_hash, tries_left, expire_time, sent)
  values ($1, $2, $3, $4, '', 0, $5, false)
  on conflict (purpose, email_hash) do update set email = excluded.email, request = excluded.request,
    code_hash = '', tries_left = 0, expire_time = excluded.expire_time, sent = false`;
const openText = `select email, request from mailed_codes where ${codeWhere} and not sent`;
const makeText = `update mailed_codes set code_hash = $4, tries_left = $5, expire_time = $6
  where ${codeWhere} and request = $3 returning 1`;
const sentText = `update mailed_codes set sent = true where ${codeWhere} and request = $3`;
const takeText = `update mailed_codes set tries_left = tries_left - 1
  where ${codeWhere} and tries_left > 0 and expire_time > $3 returning code_hash`;
const giveBackText = `update mailed_codes set tries_left = least(tries_left + 1, $4) where ${codeWhere} and code_hash = $3`;

/** Deletes expired codes in batches. */
export const codeRemovals: readonly Removal[] = [
  {
    keptSeconds: 0,
    remove: `delete from mailed_codes where (purpose, email_hash) in (select purpose, email_hash from mailed_codes
      where expire_time < $1 order by expire_time limit ${removedAtOnce}) returning 1`,
  },
];

/**
 * Codes of eight digits that are sent by e-mail: for ten minutes, one use and five tries. A try is taken before a code is
 * compared, so that attempts at once have no more than five together. Every statement is the same for addresses that no
 * member has. Times are the machine's.
 */
@Injectable()
export class MailedCodes {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Requests a code, which replaces the earlier one; due work makes and sends it. */
  async request(caller: Caller, purpose: CodePurpose, email: string): Promise<Record<string, never>> {
    const emailHash = hashOf(email.trim());
    const key = `${purpose}_${emailHash}`;
    const { idempotencyKey } = caller;
    // callers without a credential share a merchant: their keys are apart by address
    const own = { ...caller, ...(idempotencyKey !== undefined && { idempotencyKey: `${key} ${idempotencyKey}` }) };
    await this.db.replay(own);
    const now = this.seconds();
    const known = [purpose, emailHash, emailKey(email.trim()), randomUUID()];
    // not in the transaction: one that writes rows would make a tenant of the merchant that callers without a credential share
    await this.db.infra(requestText, [...known, now + limits.seconds]);
    return this.db.write(own, async tx => {
      tx.schedule(CODE_WORK, key, now);
      return {};
    });
  }

  /** Makes the code of a request; undefined if it was sent already, or is too old for anybody to wait for it. */
  async make({ key, dueAt }: WorkItem): Promise<MadeCode | undefined> {
    const now = this.seconds();
    if (dueAt + limits.seconds <= now) return undefined;
    const purpose: CodePurpose = key.startsWith('login_') ? 'login' : 'password';
    const emailHash = key.slice(purpose.length + 1);
    const [row] = await this.db.infra(openText, [purpose, emailHash]);
    if (row === undefined) return undefined;
    const code = String(randomInt(10 ** digits)).padStart(digits, '0');
    const request = String(row.request);
    const codeHash = this.keyring.sign(signed, hashedText(purpose, emailHash, code));
    const values = [purpose, emailHash, request, codeHash, limits.tries, now + limits.seconds];
    const made = await this.db.infra(makeText, values);
    return made.length === 0 ? undefined : { purpose, emailHash, email: String(row.email), request, code };
  }

  /** Records that nothing is left to send for a request. */
  async settle({ purpose, emailHash, request }: MadeCode): Promise<void> {
    await this.db.infra(sentText, [purpose, emailHash, request]);
  }

  /** Takes a try and compares the code. Throws the refusal of every sign-in if it is not right, or there is none. */
  async take(purpose: CodePurpose, email: string, code: string): Promise<Proof> {
    const emailHash = hashOf(email.trim());
    const [row] = await this.db.infra(takeText, [purpose, emailHash, this.seconds()]);
    const codeHash = String(row?.code_hash ?? '');
    if (!this.keyring.hasSigned(signed, hashedText(purpose, emailHash, code.trim()), codeHash)) throw refused();
    return { purpose, emailHash, codeHash };
  }

  /** Gives a try back: the code was right, and something else was missing. */
  async giveBack({ purpose, emailHash, codeHash }: Proof): Promise<void> {
    await this.db.infra(giveBackText, [purpose, emailHash, codeHash, limits.tries]);
  }

  /** Locks a code that was right a moment ago. Refuses one that was used, replaced, or has expired. */
  async lock(tx: Tx, { purpose, emailHash, codeHash }: Proof): Promise<MailedCode> {
    const code = await tx.lockIfAny(mailedCodes, { purpose, emailHash });
    if (code?.codeHash !== codeHash || code.expireTime <= this.seconds()) throw refused();
    return code;
  }

  /** Gives the try of a locked code back; committed with a refusal, if one follows. */
  keep(tx: Tx, code: MailedCode): void {
    tx.save(mailedCodes, { ...code, triesLeft: Math.min(code.triesLeft + 1, limits.tries) });
    tx.unlogged();
  }

  /** Uses a locked code up. */
  spend(tx: Tx, code: MailedCode): void {
    tx.save(mailedCodes, { ...code, codeHash: '', triesLeft: 0 });
  }

  private seconds = (): number => Math.floor(this.clock.wall() / 1000);
}

const hashedText = (purpose: CodePurpose, emailHash: string, code: string) => `${purpose}\n${emailHash}\n${code}`;
