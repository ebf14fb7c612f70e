import { createHash } from 'node:crypto';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { LOG, type Log } from '@recur/platform';
import { networkOf } from './address.js';

/** Addresses remembered in a minute, and e-mails named of each; what is beyond is counted. */
const limits = { everyMs: 60_000, addresses: 1_000, emails: 10 } as const;

interface Failed {
  attempts: number;
  /** By outcome: `credential_invalid`, `rate_limited` … */
  outcomes: Record<string, number>;
  emails: Set<string>;
}

/** The name of the addresses beyond the limit, taken together. */
const others = 'others';

/**
 * Logs failed sign-ins for operators: one line a minute and address, with the number of attempts and hashes of the
 * e-mails (SHA-256 of the trimmed, lower-case e-mail, first 16 hex digits), so that a flood does not flood the log and
 * the log tells nobody's e-mail.
 */
@Injectable()
export class FailedSignIns implements OnApplicationBootstrap, OnApplicationShutdown {
  private failed = new Map<string, Failed>();
  private timer: NodeJS.Timeout | undefined;

  constructor(@Inject(LOG) private readonly log: Log) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.report(), limits.everyMs).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.report();
  }

  /** `email` is undefined where the attempt was refused before its body was read. */
  add(ip: string, outcome: string, email?: string): void {
    const network = networkOf(ip);
    const address = this.failed.has(network) || this.failed.size < limits.addresses ? network : others;
    const known = this.failed.get(address) ?? { attempts: 0, outcomes: {}, emails: new Set<string>() };
    this.failed.set(address, known);
    known.attempts++;
    known.outcomes[outcome] = (known.outcomes[outcome] ?? 0) + 1;
    if (email !== undefined && known.emails.size < limits.emails) known.emails.add(hashedEmail(email));
  }

  /** Logs what was counted since the last report. */
  report(): void {
    for (const [address, { attempts, outcomes, emails }] of this.failed) {
      this.log.warn({ address, attempts, outcomes, emailHashes: [...emails] }, 'sign-ins failed');
    }
    this.failed = new Map();
  }
}

const hashedEmail = (email: string) =>
  createHash('sha256').update(email.trim().toLowerCase()).digest('hex').slice(0, 16);
