import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { checkoutRoot } from '../local/home.js';

const run = promisify(execFile);
const sql = (name: string) => path.join(checkoutRoot(), 'tools/bench', name);

const walFiles = 120;

/**
 * Brings the server to where it is after some hours of work: it writes over WAL files that were written before. A young
 * server fills each new one with zeros first, and all commits wait for that.
 */
export async function ageServer(serverUrl: string): Promise<void> {
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  try {
    // or a checkpoint would remove them
    await admin.query(`alter system set min_wal_size = '2GB'`);
    await admin.query('select pg_reload_conf()');
    for (let file = 0; file < walFiles; file++) {
      await admin.query(`select pg_logical_emit_message(false, 'bench', '')`);
      await admin.query('select pg_switch_wal()');
    }
    await admin.query('checkpoint');
  } finally {
    await admin.end();
  }
}

/** Prepares the fixed yardstick: its own database on the server that is measured. Returns how to run it once. */
export async function invoiceYardstick(pgbench: string, serverUrl: string) {
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  await admin.query('drop database if exists bench_limit with (force)');
  await admin.query('create database bench_limit');
  await admin.end();
  const url = new URL(serverUrl);
  url.pathname = '/bench_limit';
  const client = new pg.Client(url.toString());
  await client.connect();
  await client.query(readFileSync(sql('limit-invoice-schema.sql'), 'utf8'));
  await client.end();
  /** Transactions per second of `seconds` with 16 clients. */
  return async (seconds: number): Promise<number> => {
    const args = ['-n', '-M', 'prepared', '-c', '16', '-j', '2', '-T', String(seconds), '-f', sql('limit-invoice.sql')];
    const { stdout } = await run(pgbench, [...args, url.toString()]);
    const tps = /tps = ([\d.]+)/.exec(stdout)?.[1];
    if (tps === undefined) throw new Error(`pgbench printed no rate: ${stdout}`);
    return Number(tps);
  };
}
