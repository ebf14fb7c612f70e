import { type Logger, pino } from 'pino';

export type Log = Logger;

/** JSON lines on stdout. What may hold a secret is removed by name at any depth that our records have. */
export function createLog(app: string, level: string): Log {
  const secrets = ['secret', 'password', 'token', 'apiKey', 'authorization', 'setupToken', 'gatewaySecret'];
  return pino({
    level,
    base: { app },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: label => ({ level: label }) },
    redact: secrets.flatMap(name => [name, `*.${name}`, `*.*.${name}`]),
  });
}
