import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { checkoutRoot } from '../local/home.js';

interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** `COPY … FROM STDIN` of one text, as a query of the driver. */
class CopyIn {
  private resolve: () => void = () => undefined;
  private reject: (error: Error) => void = () => undefined;
  readonly done = new Promise<void>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });

  constructor(
    private readonly statement: string,
    private readonly text: string,
  ) {}

  submit(connection: CopyConnection): void {
    connection.query(this.statement);
  }
  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(Buffer.from(this.text));
    connection.endCopyFrom();
  }
  handleCommandComplete(): void {}
  handleError(error: Error): void {
    this.reject(error);
  }
  handleReadyForQuery(): void {
    this.resolve();
  }
}

/**
 * Prepares the yardstick of usage: `COPY` of the same rows, 1 000 at a time, into a logged table with the same unique key,
 * from one connection. Returns how to run it: rows per second.
 */
export async function usageYardstick(serverUrl: string, rows: (at: number) => string) {
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  await admin.query('drop database if exists bench_usage with (force)');
  await admin.query('create database bench_usage');
  await admin.end();
  const url = new URL(serverUrl);
  url.pathname = '/bench_usage';
  const client = new pg.Client(url.toString());
  await client.connect();
  await client.query(readFileSync(path.join(checkoutRoot(), 'tools/bench/limit-usage-schema.sql'), 'utf8'));
  let batch = 0;
  return {
    perSecond: async (seconds: number): Promise<number> => {
      const started = performance.now();
      const end = started + seconds * 1000;
      let count = 0;
      for (; performance.now() < end; count++) {
        const copy = new CopyIn('copy limit_usage from stdin', rows(batch++));
        client.query(copy as never);
        await copy.done;
      }
      return (count * 1000) / ((performance.now() - started) / 1000);
    },
    close: () => client.end(),
  };
}
