import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { Rejected } from '@recur/kernel';

/** `waiting` in each line: well below the commands that run at once, so that whoever waits for no password goes on. */
const limits = { atOnce: 2, waiting: 64 } as const;
/** The line of members: their merchant is not told by it, which would tell whether somebody is one. */
const members = 0;
/** OWASP Password Storage Cheat Sheet: argon2id (the library's default kind), 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Of 32 random bytes that nobody has, at this cost. */
const nobodys = '$argon2id$v=19$m=19456,t=2,p=1$iAq0DRwvZo7Wq/H6EOIrBQ$RsGhWnsKxuuAdZM0FU7vgMifRvOXXAe26mJ9dxH5P1o';

/**
 * Hashes and verifies passwords, which is slow on purpose: a bounded number at once, so that neither memory nor the
 * threads that everything else needs run out, a bounded number waiting, the rest refused. Members wait in one line, the
 * users of each merchant in another, and the lines take turns: a merchant that makes many users holds up nobody else.
 */
@Injectable()
export class Passwords {
  /** How often a password was checked, for whomever. */
  checks = 0;
  /** Who waits, by the merchant whose users they are; the line whose turn it is comes first. */
  private readonly lines = new Map<number, (() => void)[]>();
  private running = 0;

  /** Answers argon2id in PHC form; of a member's password, or one of the users of a merchant. Rejects `overloaded`. */
  hash(password: string, usersOf: number = members): Promise<string> {
    return this.inTurn(usersOf, () => hash(password, cost));
  }

  /** Whether it is the password of which `hashed` was made. Rejects `overloaded`. */
  verify(hashed: string, password: string): Promise<boolean> {
    return this.inTurn(members, () => verify(hashed, password));
  }

  /**
   * The same for somebody who may have none, or not exist: the work is as much, for a hash that no password has.
   * Rejects `overloaded`.
   */
  check(hashed: string | null | undefined, password: string): Promise<boolean> {
    this.checks++;
    return this.verify(hashed ?? nobodys, password);
  }

  private async inTurn<T>(of: number, work: () => Promise<T>): Promise<T> {
    if (this.running >= limits.atOnce) await this.turn(of);
    else this.running++;
    try {
      return await work();
    } finally {
      const next = this.next();
      if (next) next();
      else this.running--;
    }
  }

  private turn(of: number): Promise<void> {
    const line = this.lines.get(of) ?? [];
    if (line.length >= limits.waiting) throw new Rejected('overloaded');
    this.lines.set(of, line);
    return new Promise(resolve => line.push(resolve));
  }

  /** The first of the line whose turn it is, which is behind the others then. */
  private next(): (() => void) | undefined {
    const [first] = this.lines;
    if (first === undefined) return undefined;
    const [of, line] = first;
    const next = line.shift();
    this.lines.delete(of);
    if (line.length > 0) this.lines.set(of, line);
    return next;
  }
}
