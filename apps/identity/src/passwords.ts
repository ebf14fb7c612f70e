import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { Rejected } from '@recur/kernel';

const limits = { atOnce: 2, waiting: 64 } as const;
/** OWASP Password Storage Cheat Sheet: argon2id (the library's default kind), 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Of 32 random bytes that nobody has, at this cost. */
const nobodys = '$argon2id$v=19$m=19456,t=2,p=1$iAq0DRwvZo7Wq/H6EOIrBQ$RsGhWnsKxuuAdZM0FU7vgMifRvOXXAe26mJ9dxH5P1o';

/**
 * Hashes and verifies passwords, which is slow on purpose: a bounded number at once, so that neither memory nor the
 * threads that everything else needs run out, a bounded number waiting, the rest refused.
 */
@Injectable()
export class Passwords {
  /** How often a password was checked, for whomever. */
  checks = 0;
  private readonly line: (() => void)[] = [];
  private running = 0;

  /** Answers argon2id in PHC form. Rejects `overloaded`. */
  hash(password: string): Promise<string> {
    return this.inTurn(() => hash(password, cost));
  }

  /** Whether it is the password of which `hashed` was made. Rejects `overloaded`. */
  verify(hashed: string, password: string): Promise<boolean> {
    return this.inTurn(() => verify(hashed, password));
  }

  /**
   * The same for somebody who may have none, or not exist: the work is as much, for a hash that no password has.
   * Rejects `overloaded`.
   */
  check(hashed: string | null | undefined, password: string): Promise<boolean> {
    this.checks++;
    return this.verify(hashed ?? nobodys, password);
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= limits.atOnce) await this.turn();
    else this.running++;
    try {
      return await work();
    } finally {
      const next = this.line.shift();
      if (next) next();
      else this.running--;
    }
  }

  private turn(): Promise<void> {
    if (this.line.length >= limits.waiting) throw new Rejected('overloaded');
    return new Promise(resolve => this.line.push(resolve));
  }
}
