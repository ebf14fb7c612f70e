import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Rules for outbound URLs. Both are settings of the deployment, not of the merchant. */
export interface AddressRules {
  /** Refuses plain http. */
  httpsOnly: boolean;
  /** Lets loopback through: for tests and local stacks, never for production. */
  allowLoopback: boolean;
}

const maxUrlLength = 2_048;
const maxNameLength = 253;

/** The addresses that no outbound request may reach, from the IANA special-purpose registries, and what each is. */
const refusedRanges = [
  ['127.0.0.0/8', 'loopback'],
  ['::1/128', 'loopback'],
  ['0.0.0.0/8', 'this network'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier-grade NAT'],
  ['168.63.129.16/32', 'cloud platform'], // public by its number, but every Azure machine finds its host there
  ['169.254.0.0/16', 'link-local'], // the metadata services of most clouds
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', '6to4 relay'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
  ['::/128', 'unspecified'],
  ['::ffff:0:0/96', 'IPv4-mapped'],
  ['::ffff:0:0:0/96', 'IPv4-translated'],
  ['::/96', 'IPv4-compatible'],
  ['64:ff9b::/96', 'NAT64'],
  ['64:ff9b:1::/48', 'NAT64'],
  ['100::/64', 'discard-only'],
  ['2001::/23', 'protocol assignments'], // Teredo among them, which carries an IPv4 address
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4'],
  ['3fff::/20', 'documentation'],
  ['5f00::/16', 'segment routing'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local'],
  ['ff00::/8', 'multicast'],
  // the rest outside 2000::/3, which is not in use on the internet
  ['::/3', 'not global unicast'],
  ['4000::/2', 'not global unicast'],
  ['8000::/1', 'not global unicast'],
] as const;

const ranges = refusedRanges.map(([cidr, what]) => ({ range: ipaddr.parseCIDR(cidr), what }));

/** Names that only mean something inside a network or a machine: refused with everything under them. */
const refusedNames = ['localhost', 'localdomain', 'local', 'internal', 'svc', 'home.arpa'];

/**
 * The kind of a non-public address ('private', 'loopback', …), or undefined if it may be reached.
 * `address` is a plain IPv4 or IPv6 address as the resolver or a socket gives it; anything else is refused.
 */
export function refusedAddress(address: string, allowLoopback: boolean): string | undefined {
  if (isIP(address) === 0) return 'not an address';
  const parsed = ipaddr.parse(address);
  const found = ranges.find(({ range }) => range[0].kind() === parsed.kind() && parsed.match(range));
  return found?.what === 'loopback' && allowLoopback ? undefined : found?.what;
}

/** True if a name is localhost, which is never looked up: it is loopback by definition (RFC 6761). */
export function isLocalhost(name: string): boolean {
  return under('localhost', name);
}

/**
 * The problem with a URL that is to be called, as the rest of a sentence about it ("must be …"); undefined when there
 * is none. It looks at the text only: the addresses of a name are checked when it is connected to, each time.
 */
export function checkUrl(text: string, rules: AddressRules): string | undefined {
  if (text.length > maxUrlLength) return `must not be longer than ${maxUrlLength} characters`;
  const url = parsedUrl(text);
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return rules.httpsOnly ? 'must be an https URL' : 'must be an http or https URL';
  }
  if (rules.httpsOnly && url.protocol !== 'https:') return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or a password';
  return checkHost(url.hostname, rules.allowLoopback);
}

/** Not by `URL.canParse`: once that is compiled, Node 20 misreads texts whose letters all are of Latin-1. */
function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** `hostname` as URL gives it: lower case, IPv4 in its one normal form whatever the notation, IPv6 in brackets. */
function checkHost(hostname: string, allowLoopback: boolean): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) {
    const what = refusedAddress(host, allowLoopback);
    return what && `must not point to an address that is not public (${host}: ${what})`;
  }
  if (host.length > maxNameLength || host.split('.').includes('')) return 'must name a valid host';
  if (allowLoopback && isLocalhost(host)) return undefined;
  if (!host.includes('.') || refusedNames.some(name => under(name, host))) {
    return `must name a host on the public internet, not ${host}`;
  }
  return undefined;
}

function under(parent: string, name: string): boolean {
  return name === parent || name.endsWith(`.${parent}`);
}
