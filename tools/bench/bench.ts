import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { tuneEngine } from '@recur/platform';
import { obtain } from '../local/binaries.js';
import { openHome } from '../local/home.js';
import { say } from '../local/progress.js';
import { type TemporaryStack, temporaryStack } from '../local/temporary.js';
import { webhookArrival } from './arrival.js';
import { replicaGain, tracingCost } from './beside/pairs.js';
import { growthMeasures } from './growth.js';
import { invoiceRate, warm } from './invoices.js';
import { describeMachine, memoryOf } from './machine.js';
import { type Bench, type Measure, type MeasureName, measureNames } from './measure.js';
import { documentRate } from './money/documents.js';
import { markRate } from './money/marks.js';
import { refundRate } from './money/refunds.js';
import { type BenchOptions, benchOptions } from './options.js';
import { catalogTimes } from './plans.js';
import { readRates } from './reads.js';
import { clockYear, previewRate } from './subscriptions/course.js';
import { renewalRates } from './subscriptions/renewals.js';
import { submitRate } from './subscriptions/submits.js';
import { lagBesideTrouble } from './trouble.js';
import { usageMeasures } from './usage.js';
import { webhookBurst } from './webhook-burst.js';
import { webhookSteady } from './webhook-steady.js';
import { deliveryRate } from './webhooks.js';
import { ageServer } from './yardstick.js';

/** Memory that all processes of a stack should share. */
const memoryMiB = 420;
/** Time without work before idle memory is taken. */
const idleMs = 15_000;
const seconds = { all: { first: 5, warm: 15, round: 10 }, selected: { first: 3, warm: 6, round: 3 } } as const;

/**
 * `npm run bench [-- --json FILE --only NAME,NAME…]`: measures a stack started for this run against fixed limits, which
 * are measured on the same machine and PostgreSQL server in the same run.
 */
export async function run(args: readonly string[]): Promise<number> {
  const options = benchOptions(args);
  // pauses of the load generator would count as the apps' own
  tuneEngine();
  const { pgbench } = obtain(openHome(), ['pgbench'], say);
  const own = {
    gateway: { RATE_PER_SECOND: '1000000', RATE_BURST: '1000000' },
    // no e-mails: the PDF of each invoice that a measure prepares would be made while another is taken
    billing: { MAIL_FOLDER: '' },
  };
  const stack = await temporaryStack(say, own);
  const measures: Record<string, Measure> = {};
  try {
    say(await describeMachine(stack.facts().services.postgres.url));
    const bench = benchOf(stack, pgbench, options, measures);
    // before anything has asked for memory
    if (bench.wants('memory_idle')) {
      await setTimeout(idleMs);
      bench.add('memory_idle', memoryOfAll(stack));
    }
    say('  · ageing the server: creates WAL files to overwrite …');
    await ageServer(stack.facts().services.postgres.url);
    await warm(bench);
    await takeAll(bench);
  } finally {
    await stack.close();
  }
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(measures, null, 2)}\n`);
  return 0;
}

function benchOf(
  stack: TemporaryStack,
  pgbench: string,
  { only }: BenchOptions,
  measures: Record<string, Measure>,
): Bench {
  const wanted: ReadonlySet<MeasureName> = only ?? new Set(measureNames);
  return {
    stack,
    pgbench,
    seconds: only ? seconds.selected : seconds.all,
    tell: say,
    wants: (...names) => names.some(name => wanted.has(name)),
    add: (name, measure, more = '') => {
      if (!wanted.has(name)) return;
      measures[name] = measure;
      const { value, unit, limit, ratio } = measure;
      const figures = `${value.toFixed(1).padStart(9)} ${unit.padEnd(4)} limit ${limit.toFixed(1).padStart(9)}`;
      say(`${name.padEnd(18)} ${figures}  ratio ${ratio.toFixed(3)}  ${more}`);
    },
  };
}

/** Takes the measures that were asked for; those that share their preparation are one step. */
async function takeAll(bench: Bench): Promise<void> {
  const { stack } = bench;
  if (bench.wants('ready')) bench.add('ready', await readiness(stack));
  if (bench.wants('invoice_new')) await invoiceRate(bench);
  if (bench.wants('memory_loaded')) bench.add('memory_loaded', memoryOfAll(stack));
  if (bench.wants('invoice_pdf')) bench.add('invoice_pdf', await documentRate(stack), 'at 8 connections');
  if (bench.wants('refund_new')) await refundRate(bench);
  if (bench.wants('payment_mark')) await markRate(bench);
  if (bench.wants('user_count', 'event_list')) await readRates(bench);
  if (bench.wants('plan_list', 'product_list')) await catalogTimes(bench);
  await usageMeasures(bench);
  if (bench.wants('renewals', 'renewals_100k')) await renewalRates(bench);
  if (bench.wants('subscription_new')) await submitRate(bench);
  if (bench.wants('preview')) await previewRate(bench);
  if (bench.wants('clock_year')) bench.add('clock_year', await clockYear(stack), 'with 100 subscriptions');
  if (bench.wants('webhook_deliveries')) bench.add('webhook_deliveries', await deliveryRate(stack));
  if (bench.wants('webhook_steady')) {
    const { measure, more } = await webhookSteady(stack);
    bench.add('webhook_steady', measure, more);
  }
  if (bench.wants('webhook_burst')) {
    const { measure, more } = await webhookBurst(stack);
    bench.add('webhook_burst', measure, more);
  }
  if (bench.wants('webhook_lag')) {
    const { measure, more } = await lagBesideTrouble(stack);
    bench.add('webhook_lag', measure, more);
  }
  await growthMeasures(bench);
  if (bench.wants('webhook_arrival')) {
    const { measure, p99 } = await webhookArrival(stack);
    bench.add('webhook_arrival', measure, `p99 ${p99.toFixed(1)} ms`);
  }
  if (bench.wants('tracing')) {
    const { measure, more } = await tracingCost(bench);
    bench.add('tracing', measure, more);
  }
  if (bench.wants('replicas')) {
    const { measure, more } = await replicaGain(bench);
    bench.add('replicas', measure, more);
  }
}

/** Seconds of a start on existing data, with everything built; the limit is 15 seconds. */
async function readiness(stack: TemporaryStack): Promise<Measure> {
  const since = performance.now();
  await stack.again();
  const value = (performance.now() - since) / 1000;
  return { value, unit: 's', limit: 15, ratio: 15 / value };
}

/** Proportional set size of all processes of the stack, as it is now. */
function memoryOfAll(stack: TemporaryStack): Measure {
  const value = memoryOf(Object.values(stack.facts().pids));
  return { value, unit: 'MiB', limit: memoryMiB, ratio: memoryMiB / value };
}
