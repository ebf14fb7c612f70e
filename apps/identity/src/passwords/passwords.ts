import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { FairQueue } from '@recur/platform';
import type { Line } from './lines.js';

/** `waiting` is below the number of commands that run at once, so that commands without passwords still run. */
const queueLimits = { running: 2, perLine: 64, waiting: 96 } as const;
/** OWASP Password Storage Cheat Sheet: argon2id (the library's default), 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** The hash of 32 discarded random bytes at this cost, which no password matches. */
const decoyHash = '$argon2id$v=19$m=19456,t=2,p=1$iAq0DRwvZo7Wq/H6EOIrBQ$RsGhWnsKxuuAdZM0FU7vgMifRvOXXAe26mJ9dxH5P1o';

/**
 * Hashes and verifies passwords, which is slow by design: a bounded number at once, so that neither memory nor threads
 * run out, and a bounded number waiting in lines that take turns (see FairQueue and lines.ts).
 */
@Injectable()
export class Passwords {
  /** Number of sign-in checks so far. */
  checks = 0;
  private readonly queue = new FairQueue(queueLimits);

  /** The argon2id hash of a password, in PHC form. Rejects `overloaded`. */
  hash(password: string, line: Line): Promise<string> {
    return this.queue.run(line, () => hash(password, cost));
  }

  /** True if `hashed` is the hash of this password. Rejects `overloaded`. */
  verify(hashed: string, password: string, line: Line): Promise<boolean> {
    return this.queue.run(line, () => verify(hashed, password));
  }

  /**
   * Verifies the password of a sign-in. Does the same work when there is no hash, against a decoy (no timing oracle).
   * Rejects `overloaded`.
   */
  check(hashed: string | null | undefined, password: string, line: Line): Promise<boolean> {
    this.checks++;
    return this.verify(hashed ?? decoyHash, password, line);
  }
}
