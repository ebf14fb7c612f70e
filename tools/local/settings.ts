import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Failure } from './failure.js';
import type { Home } from './home.js';

export const services = ['identity', 'catalog', 'billing', 'notification'] as const;
export type Service = (typeof services)[number];
export type App = Service | 'gateway';
/** Users of NATS; deploy/nats-users.conf says what each may do. */
export const natsUsers = [...services, 'gateway', 'migrator', 'operator'] as const;
export type NatsUser = (typeof natsUsers)[number];
export type Dependency = 'postgres' | 'nats' | 'redis';
export type PartName = App | Dependency;
/** Parts with a port: of a service the one for operators, the only one that it has; of the gateway both. */
export type PortName = PartName | 'gatewayOps';

/** Settings that a stack keeps between runs: ports, secrets, demo merchant. */
export interface Settings {
  ports: Partial<Record<PortName, number>>;
  /** `host:port`, several separated by commas, of what does not listen on its port of this machine: of Redis, its sentinels. */
  hosts?: Partial<Record<Dependency, string>>;
  /** Passwords of the database roles: `postgres` and `<service>_owner`, `<service>_app`. */
  passwords: Record<string, string>;
  /** Passwords of the users of NATS: the apps, `migrator`, and `operator`, which may do everything. */
  natsPasswords: Record<string, string>;
  /** The apps' encryption keys, in the form of SECRET_KEYS. */
  secretKeys: string;
  /** The keys under which the gateway signs the callers of each service's commands, in the form of CALLER_KEY. */
  callerKeys: Record<string, string>;
  /** The password of Redis. */
  redisPassword: string;
  /** How often a demo merchant was tried: each try has an e-mail of its own, so that a killed one blocks no other. */
  demoAttempts: number;
  demo?: Merchant;
}

/** Output of creating a merchant. */
export interface Merchant {
  merchantId: number | string;
  memberId?: number | string;
  apiKey: string;
}

/** The settings of a home; undefined when it has none yet, or they are damaged. */
export function storedSettings(home: Home): Settings | undefined {
  const stored = readJson<Settings>(settingsFile(home));
  return stored?.ports && stored.passwords && stored.secretKeys ? stored : undefined;
}

/** The settings of a home; created when it has none yet. */
export function readSettings(home: Home): Settings {
  const file = settingsFile(home);
  const stored = storedSettings(home);
  if (stored?.natsPasswords?.migrator && stored.redisPassword && stored.callerKeys) return stored;
  if (stored !== undefined) {
    // created before NATS had these users, Redis a password, or callers a signature
    const made = { redisPassword: newPassword(), callerKeys: newKeys() };
    const natsPasswords = { ...newPasswords(natsUsers), ...stored.natsPasswords };
    const completed: Settings = { ...made, ...stored, natsPasswords };
    saveSettings(home, completed);
    return completed;
  }
  // the secrets that the data were written with are lost
  if (existsSync(file)) {
    throw new Failure(`${file} is damaged: "npm run reset" erases the local data and starts anew.`, 78);
  }
  const roles = ['postgres', ...services.flatMap(service => [`${service}_owner`, `${service}_app`])];
  const settings: Settings = {
    ports: {},
    passwords: newPasswords(roles),
    natsPasswords: newPasswords(natsUsers),
    redisPassword: newPassword(),
    secretKeys: `k1:${newKey()}`,
    callerKeys: newKeys(),
    demoAttempts: 0,
  };
  saveSettings(home, settings);
  return settings;
}

function newPasswords(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map(name => [name, newPassword()]));
}

const newPassword = () => randomBytes(24).toString('hex');
const newKey = () => randomBytes(32).toString('base64');
const newKeys = () => Object.fromEntries(services.map(service => [service, newKey()]));

export function saveSettings(home: Home, settings: Settings): void {
  writePrivately(settingsFile(home), settings);
}

/** The port of a part that has been given one. */
export function portOf(settings: Settings, part: PortName): number {
  const port = settings.ports[part];
  if (port === undefined) throw new Error(`${part} has no port yet`);
  return port;
}

/** Where a dependency is: `host:port`, several separated by commas. */
export const hostsOf = (settings: Settings, part: Dependency): string =>
  settings.hosts?.[part] ?? `127.0.0.1:${portOf(settings, part)}`;

/** The URL a role of the database connects to; `postgres` is the superuser. */
export function databaseUrl(settings: Settings, role: string, database: string): string {
  const password = settings.passwords[role];
  if (password === undefined) throw new Error(`there is no database role ${role}`);
  return `postgres://${role}:${password}@${hostsOf(settings, 'postgres')}/${database}`;
}

/** Written whole or not at all, and readable by its owner only. */
export function writePrivately(file: string, value: unknown): void {
  const unfinished = `${file}.${process.pid}`;
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(unfinished, file);
}

/** Undefined when there is no such file, or it is damaged: a record that cannot be read is none. */
export function readJson<T extends object>(file: string): T | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}

function settingsFile(home: Home): string {
  return path.join(home.state, 'settings.json');
}
