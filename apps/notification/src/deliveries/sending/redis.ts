import { Redis, type RedisOptions } from 'ioredis';

const sentinels = /^redis\+sentinel:\/\/(?::([^@/]*)@)?([^/@,]+(?:,[^/@,]+)*)\/([\w.-]+)$/;

/** True for redis:// and rediss:// URLs, and for those of sentinels: see connectRedis. */
export const isRedisUrl = (url: string): boolean =>
  sentinels.test(url) || (/^rediss?:\/\//.test(url) && URL.canParse(url));

/**
 * A connection to Redis, or to the primary that sentinels name: `redis+sentinel://:password@host:port,host:port/name`,
 * with one password for the sentinels and for Redis.
 */
export function connectRedis(url: string, options: RedisOptions): Redis {
  const [, password, hosts, name] = sentinels.exec(url) ?? [];
  if (hosts === undefined || name === undefined) return new Redis(url, options);
  const addresses = hosts.split(',').map(host => {
    const [, address = host, port = '26379'] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
    return { host: address, port: Number(port) };
  });
  const secret = password ? decodeURIComponent(password) : undefined;
  const secrets = secret === undefined ? {} : { password: secret, sentinelPassword: secret };
  return new Redis({ ...options, ...secrets, name, sentinels: addresses });
}
