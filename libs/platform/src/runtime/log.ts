import { type Logger, type LoggerOptions, pino } from 'pino';

export type Log = Logger;

/** JSON lines, on stdout unless that is for something else. What may hold a secret is removed by name at any depth that our records have. */
export function createLog(app: string, level: string, to: 'stdout' | 'stderr' = 'stdout'): Log {
  const secrets = ['secret', 'password', 'token', 'apiKey', 'authorization', 'setupToken', 'gatewaySecret'];
  const options: LoggerOptions = {
    level,
    base: { app },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: label => ({ level: label }) },
    redact: secrets.flatMap(name => [name, `*.${name}`, `*.*.${name}`]),
  };
  return pino(options, pino.destination(to === 'stdout' ? 1 : 2));
}

/** EX_UNAVAILABLE of sysexits.h: a dependency is away. Commands use 1 for themselves. */
export const unavailable = 69;

/** Ends the process for a reason that is logged. */
export function fatal(log: Pick<Log, 'fatal'>, why: string, exitCode = 1): never {
  log.fatal(why);
  return process.exit(exitCode);
}
