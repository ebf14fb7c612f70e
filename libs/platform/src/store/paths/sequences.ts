import type pg from 'pg';
import { prepared, queryOn } from '../pool.js';

const blocks = { first: 32, largest: 512 } as const;

/**
 * Integer ids from a table's sequence `<table>_id_seq`, taken in blocks, so that most commands need no round trip for
 * theirs. What a process does not use of a block is lost: ids are unique and ascend per process, but are not dense.
 */
export class Sequences {
  private readonly blocks = new Map<string, number[]>();
  private readonly fetching = new Map<string, Promise<void>>();
  private readonly sizes = new Map<string, number>();

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
      const size = Math.min(this.sizes.get(table) ?? blocks.first, blocks.largest);
      this.sizes.set(table, size * 2);
      const text = `select nextval('${table}_id_seq') as id from generate_series(1, $1::integer)`;
      const rows = await queryOn(this.pool, prepared(text, [size]));
      this.blocks.set(
        table,
        rows.map(({ id }) => Number(id)),
      );
    } finally {
      this.fetching.delete(table);
    }
  }
}
