import { createHash } from 'node:crypto';
import type { GatewayConfig } from '../config.js';
import { gatewayLimits } from '../limits.js';
import { networkOf } from './address.js';
import { type Allowance, Buckets } from './buckets.js';

type SignInSettings = Pick<GatewayConfig, 'SIGN_IN_PER_ADDRESS' | 'SIGN_IN_PER_EMAIL' | 'SIGN_IN_PER_MINUTE'>;

const secondsPerHour = 3_600;
/** Longest pause between two attempts with one e-mail. */
const longestPauseSeconds = 32;

/**
 * Limits attempts to sign in, before a service is asked: by address, whatever the e-mail; by e-mail, from wherever; and
 * by both together. None of them depends on whether there is such a member.
 */
export class SignInLimits {
  private readonly byAddress: Buckets;
  private readonly byEmail: Buckets;
  private readonly byBoth: Buckets;

  constructor(
    { SIGN_IN_PER_ADDRESS, SIGN_IN_PER_EMAIL, SIGN_IN_PER_MINUTE }: SignInSettings,
    private readonly nowMs: () => number,
  ) {
    const most = gatewayLimits.signInBuckets;
    this.byAddress = new Buckets(SIGN_IN_PER_ADDRESS / 60, SIGN_IN_PER_ADDRESS, nowMs, most);
    this.byEmail = new Buckets(SIGN_IN_PER_EMAIL / secondsPerHour, SIGN_IN_PER_EMAIL, nowMs, most);
    this.byBoth = new Buckets(SIGN_IN_PER_MINUTE / 60, SIGN_IN_PER_MINUTE, nowMs, most);
  }

  /** Counts an attempt of an address, before its body is read. */
  fromAddress(address: string): Allowance {
    return this.byAddress.take(networkOf(address));
  }

  /** Counts an attempt with an e-mail from an address. One that is refused for both does not count for the e-mail. */
  withEmail(email: string, address: string): Allowance {
    // hashed because e-mails may be long, and a bucket only needs a distinct name
    const who = createHash('sha256').update(email.trim().toLowerCase()).digest('base64');
    const both = this.byBoth.take(`${who} ${networkOf(address)}`);
    if (!both.allowed) return both;
    const pauseSeconds = this.pauseOf(who);
    if (pauseSeconds > 0) return { ...both, allowed: false, retrySeconds: pauseSeconds };
    const across = this.byEmail.take(who);
    return across.allowed ? both : across;
  }

  /**
   * Seconds that an e-mail still has to wait. The pause after an attempt grows with the attempts of the last hour: none
   * for the first fifth of them, then 1 s, doubled with each further tenth.
   */
  private pauseOf(who: string): number {
    const { tokens, atMs } = this.byEmail.used(who);
    const share = tokens / this.byEmail.burst;
    if (share < 0.2) return 0;
    const pause = Math.min(2 ** Math.floor((share - 0.2) * 10), longestPauseSeconds);
    return Math.ceil((atMs + pause * 1_000 - this.nowMs()) / 1_000);
  }
}
