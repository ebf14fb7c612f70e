import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import type { Aggregate } from '../store/aggregate.js';
import type { Schema } from '../store/schema/migrate.js';
import type { Removal } from '../work/janitor.js';
import type { Work } from '../work/work.js';

/** A part of a service as a value: what it stores, answers, and does when it falls due. */
export interface Wing extends Pick<ModuleMetadata, 'controllers' | 'providers'> {
  tables?: Schema['tables'];
  aggregates?: Readonly<Record<string, Aggregate>>;
  work?(app: INestApplicationContext): Work[];
  removals?: readonly Removal[];
}

/** The wings of a service as one. Throws for an aggregate that two of them have. */
export function joined(wings: readonly Wing[]): Required<Wing> {
  const aggregates = new Map<string, Aggregate>();
  for (const [name, aggregate] of wings.flatMap(wing => Object.entries(wing.aggregates ?? {}))) {
    if (aggregates.has(name)) throw new Error(`two wings have the aggregate ${name}`);
    aggregates.set(name, aggregate);
  }
  return {
    tables: wings.flatMap(({ tables = [] }) => tables),
    aggregates: Object.fromEntries(aggregates),
    controllers: wings.flatMap(({ controllers = [] }) => controllers),
    providers: wings.flatMap(({ providers = [] }) => providers),
    work: app => wings.flatMap(({ work }) => work?.(app) ?? []),
    removals: wings.flatMap(({ removals = [] }) => removals),
  };
}
