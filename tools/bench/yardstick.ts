import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { checkoutRoot } from '../local/home.js';
import { quantile } from './load.js';

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
  /** With 16 clients for `seconds`: transactions per second, and the p99 of a tenth of them in milliseconds. */
  return async (seconds: number): Promise<{ perSecond: number; p99: number }> => {
    const folder = mkdtempSync(path.join(tmpdir(), 'recur-bench-'));
    try {
      const clients = ['-n', '-M', 'prepared', '-c', '16', '-j', '2', '-T', String(seconds)];
      const sample = ['-l', '--sampling-rate=0.1', '--log-prefix', path.join(folder, 'log')];
      const { stdout } = await run(pgbench, [...clients, ...sample, '-f', sql('limit-invoice.sql'), url.toString()]);
      const tps = /tps = ([\d.]+)/.exec(stdout)?.[1];
      if (tps === undefined) throw new Error(`pgbench printed no rate: ${stdout}`);
      return { perSecond: Number(tps), p99: p99Of(folder) };
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

/** p99 from pgbench's logs: the third word of each line is a transaction's duration in microseconds. */
function p99Of(folder: string): number {
  const lines = readdirSync(folder).flatMap(file => readFileSync(path.join(folder, file), 'utf8').trim().split('\n'));
  const times = lines.map(line => Number(line.split(' ')[2]) / 1000).sort((a, b) => a - b);
  return quantile(times, 0.99);
}
