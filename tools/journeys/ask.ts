import type { Service } from '@recur/contracts';

export type Row = Record<string, unknown>;

/** Queries one service's database as its superuser, past row-level security. */
export type Ask = (service: Service, text: string) => Promise<Row[]>;
