import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
import { type AddressRules, isLocalhost, refusedAddress } from './address.js';
import { networkCode, Unreachable } from './failure.js';

const limits = {
  /** Queries to a name server, and the time each waits. */
  lookupTries: 2,
  lookupMs: 2_500,
  /** Time until the next of several addresses is tried. */
  addressAttemptMs: 1_000,
} as const;

/** The addresses of a host name; rejects or resolves to none if there are none. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/**
 * Connects to public addresses only: it checks every address that a name resolves to, connects to exactly those, and
 * checks the address that the socket is connected to, so a name cannot change its addresses in between.
 */
export class GuardedConnector {
  constructor(
    private readonly rules: AddressRules,
    private readonly deadlineMs: number,
    private readonly resolve: Resolve = nameServers(),
    private readonly ca?: string,
  ) {}

  /** A connect function as of undici's pools; `build` is its `buildConnector`. `allowH2`: TLS handshakes offer HTTP/2. */
  connectWith(build: typeof buildConnector, allowH2: boolean): buildConnector.connector {
    const { allowLoopback } = this.rules;
    const connect = build({
      allowH2,
      ca: this.ca,
      lookup: this.lookup,
      // aborting a request does not abort its pending connect, which this ends
      timeout: this.deadlineMs,
      autoSelectFamilyAttemptTimeout: limits.addressAttemptMs,
    });
    return (options, callback) =>
      connect(options, (error, socket) => {
        if (error !== null) return callback(connectFailure(error, options.protocol), null);
        if (refusedAddress(socket.remoteAddress ?? '', allowLoopback) === undefined) return callback(null, socket);
        socket.destroy();
        callback(new Unreachable('address', 'connected to an address that is not public'), null);
      });
  }

  /** Lookup function of the sockets; not called for a host that is an IP address. */
  private readonly lookup: LookupFunction = (name, options, callback) => {
    this.addressesOf(name).then(
      addresses => {
        const [first] = addresses;
        if (first === undefined) callback(new Unreachable('dns', 'ENODATA'), []);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };

  /** The addresses of a name. A single non-public address refuses the name: no honest name mixes both kinds. */
  private async addressesOf(name: string) {
    const { allowLoopback } = this.rules;
    const local = allowLoopback && isLocalhost(name.replace(/\.$/, ''));
    const addresses = local ? ['127.0.0.1', '::1'] : await this.resolve(name).catch(lookupFailed);
    if (addresses.some(address => refusedAddress(address, allowLoopback) !== undefined)) {
      throw new Unreachable('address', 'the host has an address that is not public');
    }
    return addresses.map(address => ({ address, family: isIP(address) }));
  }
}

/**
 * A resolver that queries the name servers itself. getaddrinfo would occupy one of libuv's four threads for each slow
 * name, so a few merchants' dead name servers could block everyone; the cost is that the hosts file is not read.
 */
function nameServers() {
  const resolver = new Resolver({ timeout: limits.lookupMs, tries: limits.lookupTries });
  return async (name: string): Promise<string[]> => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = [v4, v6].flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length === 0 && v4.status === 'rejected') throw v4.reason;
    return found;
  };
}

function lookupFailed(error: unknown): never {
  throw new Unreachable('dns', networkCode(error) ?? 'failed');
}

function connectFailure(error: Error, protocol: string): Error {
  if (error instanceof Unreachable) return error;
  const code = networkCode(error) ?? 'failed';
  if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') return new Unreachable('timeout', code);
  const noWay = /^(ECONNREFUSED|EHOST|ENET|EADDR|EACCES|EMFILE|ENFILE)/.test(code);
  return new Unreachable(protocol === 'https:' && !noWay ? 'tls' : 'connect', code);
}
