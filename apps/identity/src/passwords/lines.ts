import { isIPv6 } from 'node:net';

/** The key of a line in the queue for password hashes. */
export type Line = `address ${string}` | `member ${number} ${number}` | `users ${number}`;

/**
 * The line of an anonymous sign-in: its network address. An IPv6 address counts by its /64, which is what one subscriber
 * is given; an IPv4-mapped one counts as IPv4. Deliberately not by merchant, which would reveal whether an e-mail is a
 * member's.
 */
export function addressLine(ip: string): Line {
  const plain = ip.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!isIPv6(plain)) return `address ${plain}`;
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const left = head.split(':').filter(group => group !== '');
  const right = tail?.split(':').filter(group => group !== '') ?? [];
  const groups = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right];
  return `address ${groups.slice(0, 4).join(':')}`;
}

/** The line of a signed-in member. */
export const memberLine = (merchantId: number, memberId: number): Line => `member ${merchantId} ${memberId}`;

/** The line of a merchant's users. */
export const usersLine = (merchantId: number): Line => `users ${merchantId}`;
