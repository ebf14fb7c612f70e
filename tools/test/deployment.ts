import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { checkoutRoot } from '../local/home.js';

/** What a deployment is made of, as texts, so that a test can plant a mistake in any of them. */
const paths = {
  compose: 'docker-compose.yml',
  dockerfile: 'deploy/Dockerfile',
  dockerignore: '.dockerignore',
  example: 'deploy/env.example',
  sql: 'deploy/postgres-init.sql',
  nats: 'deploy/nats.conf',
  natsUsers: 'deploy/nats-users.conf',
  healthy: 'deploy/healthy.mjs',
} as const;
export type Files = Record<keyof typeof paths, string>;
type Env = Readonly<Record<string, string>>;

/** What is read of a service of docker-compose.yml. */
export interface Composed {
  image?: string;
  build?: { dockerfile: string; args: { APP: string } };
  command?: readonly string[];
  environment: Record<string, string>;
  /** The names in its environment, those included that are handed on and not set. */
  variables: string[];
  depends_on?: Record<string, { condition: string }>;
  ports?: readonly string[];
  volumes?: readonly string[];
  networks?: readonly string[];
  healthcheck?: { test?: readonly string[]; disable?: boolean };
  restart?: string;
  stop_grace_period?: string;
  read_only?: boolean;
  cap_drop?: readonly string[];
  security_opt?: readonly string[];
  user?: string;
  mem_limit?: string;
  pids_limit?: number;
}
type Raw = { variables: string[]; environment?: Record<string, string | null | undefined> };
export interface Composition {
  services: Record<string, Composed>;
  volumes: Record<string, unknown>;
  networks: Record<string, { internal?: boolean } | null>;
}

const root = checkoutRoot();
export const exists = (file: string) => existsSync(path.join(root, file));

export function readFiles(): Files {
  const texts = Object.entries(paths).map(([name, file]) => [name, readFileSync(path.join(root, file), 'utf8')]);
  return Object.fromEntries(texts) as Files;
}

/** A guard reads the files and says what is wrong; each of `planted` is a mistake in one of them that it must catch. */
export interface Guard {
  find(texts: Files): string[];
  planted: [file: keyof Files, from: string, to: string][];
}

/** The planted mistakes that a guard does not catch, or that cannot be made because the text has changed. */
export const unnoticed = ({ find, planted }: Guard, files: Files) =>
  planted.filter(([file, from, to]) => {
    const text = files[file].replace(from, () => to);
    return text === files[file] || find({ ...files, [file]: text }).length === 0;
  });

/** `problem` where something does not hold. */
export const unless = (holds: boolean | undefined, problem: string) => (holds ? [] : [problem]);
/** Those that are not among all. */
export const only = (some: readonly string[], all: readonly string[]) => some.filter(name => !all.includes(name));

/** docker-compose.yml as compose reads it with this environment: merged, values in place, what is not set left out. */
export function composed({ compose }: Files, env: Env): Composition & { missing: string[] } {
  const missing = new Set<string>();
  const { services, volumes, networks } = parse(compose, inPlace, { merge: true });
  for (const service of Object.values<Raw>(services)) {
    const given = Object.entries(service.environment ?? {}).map(([name, value]) => [name, value ?? env[name]] as const);
    service.variables = given.map(([name]) => name);
    service.environment = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  }
  return { services, volumes, networks, missing: [...missing] };

  function inPlace(_: unknown, value: unknown): unknown {
    return typeof value === 'string' ? filled(value) : value;
  }
  /** `${NAME}`, `${NAME:-otherwise}` and `${NAME:?why it must be there}`, one within another. */
  function filled(text: string): string {
    const variable = /\$\{(\w+)(?:(:[-?])((?:[^${}]|\$\{[^{}]*\})*))?\}/g;
    return text.replace(variable, (_, name: string, operator?: string, word = '') => {
      const value = env[name];
      if (value !== undefined && value !== '') return value;
      if (operator === ':-') return filled(word);
      missing.add(name);
      return '';
    });
  }
}

/** The names that docker-compose.yml takes from `.env`. */
export function takenNames({ compose }: Files): string[] {
  const handedOn = [...compose.matchAll(/^ {2,}([A-Z]\w+):$/gm)];
  const inPlace = [...compose.matchAll(/\$\{(\w+)/g)];
  return [...new Set([...handedOn, ...inPlace].map(([, name = '']) => name))].sort();
}

/** env.example: what is set, what is empty and has to be filled in, and what stands there as a comment. */
export function exampleOf({ example }: Files): { set: Env; empty: string[]; commented: Env } {
  const lines = [...example.matchAll(/^(# )?([A-Z][A-Z_]+)=(.*)$/gm)];
  const those = (wanted: (comment: string | undefined, value: string) => boolean) =>
    Object.fromEntries(
      lines.filter(([, mark, , value = '']) => wanted(mark, value)).map(([, , name, value]) => [name, value]),
    );
  return {
    set: those((mark, value) => mark === undefined && value !== ''),
    empty: Object.keys(those((mark, value) => mark === undefined && value === '')),
    commented: those(mark => mark !== undefined),
  };
}

/** `.env` with every secret filled in; passwords are told apart by their names. */
export function filledIn(files: Files, withCommented = false): Env {
  const { set, empty, commented } = exampleOf(files);
  // of each service another one
  const key = (name: string) => `${(name[0] ?? '').repeat(43)}=`;
  const secret = (name: string) => {
    if (name === 'SECRET_KEYS') return `k1:${key(name)}`;
    return name.endsWith('_CALLER_KEY') ? key(name) : name.toLowerCase();
  };
  const secrets = Object.fromEntries(empty.map(name => [name, secret(name)]));
  return { ...set, ...secrets, ...(withCommented && commented) };
}
