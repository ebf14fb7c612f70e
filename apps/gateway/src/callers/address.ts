import { isIPv6 } from 'node:net';

/**
 * The network that an address is counted by. An IPv6 address counts by its /64, which is the least that one subscriber is
 * given; an IPv4-mapped one counts as IPv4, and a port or a zone does not count.
 */
export function networkOf(address: string): string {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1');
  const zoneless = bare.replace(/%.*$/, '');
  if (!isIPv6(zoneless)) return zoneless;
  const groups = groupsOf(zoneless);
  const isMapped = groups.slice(0, 5).every(group => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [6, 7].flatMap(at => [(groups[at] as number) >> 8, (groups[at] as number) & 0xff]).join('.');
  return `${groups
    .slice(0, 4)
    .map(group => group.toString(16))
    .join(':')}::/64`;
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // the URL parser writes every spelling of an address in one way
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const numbers = (text: string) => (text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16)));
  const [left, right] = [numbers(head), numbers(tail ?? '')];
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
}
