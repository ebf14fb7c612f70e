import type { DataSource, QueryRunner } from 'typeorm';
import { connected, type Schema } from '../store/schema/migrate.js';

/**
 * Statements with which TypeORM would make the database at `url` fit the declared tables; empty when there is no drift.
 * `url` is of a role that may read the catalog.
 */
export async function schemaDifference(url: string, schema: Schema): Promise<string[]> {
  const source = await connected(url, schema);
  try {
    queryOneByOne(source);
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    return upQueries.map(({ query }) => query);
  } finally {
    await source.destroy();
  }
}

/** TypeORM's schema loader sends several queries on one client at once, which pg deprecates: queues them. */
function queryOneByOne(source: DataSource): void {
  const createQueryRunner = source.createQueryRunner.bind(source);
  source.createQueryRunner = mode => {
    const runner = createQueryRunner(mode);
    const query = runner.query.bind(runner) as (...args: unknown[]) => Promise<unknown>;
    let last: Promise<unknown> = Promise.resolve();
    runner.query = ((...args: unknown[]) => {
      last = last.then(
        () => query(...args),
        () => query(...args),
      );
      return last;
    }) as QueryRunner['query'];
    return runner;
  };
}
