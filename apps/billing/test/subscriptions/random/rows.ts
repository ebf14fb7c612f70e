import { gapIn, notBilled, type Period, type PeriodRow } from '../../../src/subscriptions/domain/periods.js';

/** Rows of periods, which tile time after each change. */
export class Rows {
  all: PeriodRow[] = [];

  add(
    { kind, start: startAt, end: endAt }: Period,
    over: Pick<PeriodRow, 'state' | 'createTime'> & Partial<PeriodRow>,
  ) {
    const own = { merchantId: 15, subscriptionId: 'sub_1', userId: 1, invoiceId: '', ...notBilled };
    this.all.push({ ...own, seq: this.all.length + 1, kind, startAt, endAt, ...over });
    const gap = gapIn(this.all);
    if (gap) throw new Error(`periods do not tile: ${gap}`);
  }

  replace(row: PeriodRow, over: Partial<PeriodRow>): void {
    this.all = this.all.map(each => (each === row ? { ...row, ...over } : each));
  }
}
