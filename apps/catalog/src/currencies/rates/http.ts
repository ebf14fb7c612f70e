import { type AddressRules, Outbound } from '@recur/platform';
import type { RateSource } from './refresh.js';
import { limits } from './xml.js';

/** Source that fetches a URL. It throws Error when the answer is not a complete 200; `deadlineMs` is for all of the request. */
export function httpSource(url: string, rules: AddressRules, deadlineMs?: number): RateSource {
  const outbound = new Outbound({ ...rules, answerBytes: limits.bytes + 1, ...(deadlineMs && { deadlineMs }) });
  return async () => {
    const result = await outbound.get(url);
    if (result.kind === 'failed') throw new Error(`the source of rates: ${result.detail}`);
    if (result.status !== 200) throw new Error(`the source of rates answers ${result.status}`);
    return result.body;
  };
}
