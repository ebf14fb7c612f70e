import type pg from 'pg';
import { prepared } from './session.js';

const BLOCK = 32;

/**
 * Integer ids from a table's sequence `<table>_id_seq`, taken in blocks: most commands get theirs without a round
 * trip. A block that a process did not use up is lost, so ids are unique and ascending per process, not dense.
 */
export class Sequences {
  private readonly blocks = new Map<string, number[]>();
  private readonly fetching = new Map<string, Promise<void>>();

  constructor(private readonly pool: pg.Pool) {}

  async next(table: string): Promise<number> {
    for (;;) {
      const id = this.blocks.get(table)?.shift();
      if (id !== undefined) return id;
      const underway = this.fetching.get(table) ?? this.fetch(table);
      this.fetching.set(table, underway);
      await underway;
    }
  }

  private async fetch(table: string): Promise<void> {
    try {
      const text = `select nextval('${table}_id_seq') as id from generate_series(1, ${BLOCK})`;
      const { rows } = await this.pool.query<{ id: string }>(prepared(text, []));
      this.blocks.set(
        table,
        rows.map(({ id }) => Number(id)),
      );
    } finally {
      this.fetching.delete(table);
    }
  }
}
