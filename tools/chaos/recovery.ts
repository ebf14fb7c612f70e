import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import type { Stack } from '../local/control.js';
import { dataFolder, postgresServer } from '../local/postgres.js';
import { databaseUrl, readSettings } from '../local/settings.js';
import { unusedPort } from './replica.js';

const readyWithinMs = 60_000;

/** A server that was recovered from a backup, beside the one of the stack. */
export interface RecoveredServer {
  /** The URL of a database of it, for a role of the stack. */
  url(role: string, database: string): string;
  close(): Promise<void>;
}

/**
 * Continuous archiving of a stack's database server, as a deployment does it: every file of its write-ahead log is copied
 * to a folder, and a copy of the data folder, taken while the server works, can be brought to any later point.
 */
export class Backups {
  private readonly data: string;
  private readonly archive: string;
  private readonly base: string;
  private readonly recovered: string[] = [];

  private constructor(private readonly stack: Stack) {
    this.data = dataFolder(stack.home);
    this.archive = `${this.data}.archive`;
    this.base = `${this.data}.base`;
  }

  /** Restarts the stack's PostgreSQL with archiving on. */
  static async start(stack: Stack): Promise<Backups> {
    const backups = new Backups(stack);
    mkdirSync(backups.archive, { mode: 0o700 });
    backups.own(backups.archive);
    await backups.query('alter system set archive_mode = on');
    await backups.query(
      `alter system set archive_command = 'test ! -f ${backups.archive}/%f && cp %p ${backups.archive}/%f'`,
    );
    await stack.restart('postgres');
    return backups;
  }

  /** Copies the data folder; the server goes on working. */
  async takeBase(): Promise<void> {
    const client = await this.connect();
    try {
      await client.query(`select pg_backup_start('base', fast => true)`);
      // cp ends with 1 where a file went while it was copied, which a recovery makes good
      const cp = spawn('cp', ['-a', this.data, this.base], { stdio: 'ignore' });
      await once(cp, 'exit');
      const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
      writeFileSync(path.join(this.base, 'backup_label'), rows[0]?.labelfile ?? '');
    } finally {
      await client.end();
    }
  }

  /** Names the present in the write-ahead log. */
  async mark(point: string): Promise<void> {
    await this.query('select pg_create_restore_point($1)', [point]);
  }

  /** Starts a server with everything up to a marked point, or up to now; the stack's server is not needed for it later. */
  async recover(point?: string): Promise<RecoveredServer> {
    await this.archived();
    const folder = `${this.data}.recovered${this.recovered.length}`;
    this.recovered.push(folder);
    cpSync(this.base, folder, { recursive: true, preserveTimestamps: true });
    for (const gone of ['postmaster.pid', 'postmaster.opts', 'pg_wal'])
      rmSync(path.join(folder, gone), { recursive: true, force: true });
    mkdirSync(path.join(folder, 'pg_wal', 'archive_status'), { recursive: true, mode: 0o700 });
    const target = point === undefined ? [] : [`recovery_target_name = '${point}'`];
    const lines = [
      'archive_mode = off',
      `restore_command = 'cp ${this.archive}/%f %p'`,
      ...target,
      "recovery_target_action = 'promote'",
    ];
    writeFileSync(path.join(folder, 'postgresql.auto.conf'), `${lines.join('\n')}\n`);
    writeFileSync(path.join(folder, 'recovery.signal'), '');
    this.own(folder);
    const port = await unusedPort();
    const { command, args, env, cwd, account = {} } = postgresServer(this.stack.home, readSettings(this.stack.home));
    const places = new Map([
      ['-D', folder],
      ['-p', String(port)],
    ]);
    const moved = args.map((word, at) => places.get(args[at - 1] ?? '') ?? word);
    const server = spawn(command, moved, { env, cwd, stdio: 'ignore', ...account });
    process.once('exit', () => server.kill('SIGKILL'));
    const url = (role: string, database: string) => {
      const there = new URL(databaseUrl(readSettings(this.stack.home), role, database));
      there.port = String(port);
      return there.toString();
    };
    await promoted(server, url('postgres', 'postgres'));
    return {
      url,
      async close() {
        if (server.exitCode !== null || server.signalCode !== null) return;
        const ended = once(server, 'exit');
        server.kill('SIGINT');
        await ended;
      },
    };
  }

  /** Removes what this made beside the data folder. */
  close(): void {
    for (const folder of [this.archive, this.base, ...this.recovered]) rmSync(folder, { recursive: true, force: true });
  }

  /** Waits until the archive holds everything that is committed now. */
  private async archived(): Promise<void> {
    const [{ file } = { file: '' }] = await this.query<{ file: string }>(
      'select pg_walfile_name(pg_switch_wal()) as file',
    );
    for (;;) {
      const [row] = await this.query<{ done: boolean }>(
        'select last_archived_wal >= $1 as done from pg_stat_archiver',
        [file],
      );
      if (row?.done) return;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }

  private async query<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    const client = await this.connect();
    try {
      return (await client.query<R>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  private async connect(): Promise<pg.Client> {
    const client = new pg.Client(databaseUrl(readSettings(this.stack.home), 'postgres', 'postgres'));
    await client.connect();
    return client;
  }

  /** Gives a folder and what is in it to the account of the database server. */
  private own(folder: string): void {
    const { uid, gid } = statSync(this.data);
    const inside = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => path.join(folder, name));
    for (const file of [folder, ...inside]) chownSync(file, uid, gid);
  }
}

/** Waits until a server takes writes. */
async function promoted(server: ChildProcess, url: string): Promise<void> {
  for (const deadline = Date.now() + readyWithinMs; ; ) {
    const client = new pg.Client(url);
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ yet: boolean }>('select pg_is_in_recovery() as yet');
      if (rows[0]?.yet === false) return;
    } catch {
      // the server does not take connections yet
    } finally {
      await client.end().catch(() => undefined);
    }
    if (server.exitCode !== null || Date.now() > deadline) throw new Error('the recovered server did not get ready');
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}
