import { Rejected } from '@recur/kernel';
import type { Clock } from '../runtime/clock.js';

/** Runs a bounded number of commands at once; a bounded number wait within their deadlines, the rest are refused. */
export class CommandQueue {
  private readonly line: (() => void)[] = [];
  private running = 0;

  constructor(
    private readonly atOnce: number,
    private readonly waiting: number,
    private readonly clock: Clock,
  ) {}

  /** Runs `command` in turn. Throws Rejected `overloaded` or `deadline_exceeded` when it has not begun by its deadline. */
  async run<T>(deadline: number, command: () => Promise<T>): Promise<T> {
    if (this.running >= this.atOnce) await this.wait(deadline);
    else this.running++;
    try {
      if (this.clock.wall() >= deadline) throw new Rejected('deadline_exceeded');
      return await command();
    } finally {
      const next = this.line.shift();
      if (next) next();
      else this.running--;
    }
  }

  private wait(deadline: number): Promise<void> {
    if (this.line.length >= this.waiting) throw new Rejected('overloaded');
    return new Promise((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.line.splice(this.line.indexOf(turn), 1);
        reject(new Rejected('overloaded'));
      }, deadline - this.clock.wall());
      this.line.push(turn);
    });
  }
}
