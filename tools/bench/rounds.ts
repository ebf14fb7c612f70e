import { type Costs, costing, costsOf, toldCosts } from './costs.js';
import { type Load, median } from './load.js';
import type { Bench, MeasureName } from './measure.js';

const rounds = 3;

/** A load and what its rate is divided by. */
export interface Rate {
  load(seconds: number): Promise<Load>;
  /** The limit, per second, measured in turn with the load. */
  limit(seconds: number): Promise<number>;
  /** Items of one request; 1 where it is absent. */
  items?: number;
  /** More about the limit, when all rounds are over. */
  more?(): string;
}

/** Takes a rate: medians of three rounds of the load and its limit in turn, with the processor time of an item. */
export async function takeRate(bench: Bench, name: MeasureName, { load, limit, items = 1, more }: Rate): Promise<void> {
  const { stack, seconds } = bench;
  // lets V8 compile the hot paths, and PostgreSQL collect its first statistics
  await load(seconds.warm);
  const limits: number[] = [];
  const loads: Load[] = [];
  const costs: Costs[] = [];
  for (let round = 0; round < rounds; round++) {
    limits.push(await limit(seconds.round));
    const run = await costing(
      () => costsOf(stack),
      () => load(seconds.round),
      ({ requests }) => requests * items,
    );
    loads.push(run.result);
    costs.push(run.costs);
  }
  const [value, least] = [median(loads.map(({ perSecond }) => perSecond)) * items, median(limits)];
  const [p50, p99] = [loads.map(each => each.p50), loads.map(each => each.p99)].map(all => median(all).toFixed(1));
  const told = more ? `; ${more()}` : '';
  bench.add(name, { value, unit: '1/s', limit: least, ratio: value / least }, `p50 ${p50} ms, p99 ${p99} ms${told}`);
  if (bench.wants(name)) bench.tell(`    µs of a core for one: ${toldCosts(costs)}`);
}
