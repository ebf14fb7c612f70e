import { type AddressRules, Outbound } from '@recur/platform';
import type { RateSource } from './rates-worker.js';
import { limits } from './rates-xml.js';

/** Rates from a URL. Throws Error, saying what came of it, where that is not the whole of a file. */
export function httpSource(url: string, rules: AddressRules, deadlineMs?: number): RateSource {
  const outbound = new Outbound({ ...rules, answerBytes: limits.bytes + 1, ...(deadlineMs && { deadlineMs }) });
  return async () => {
    const result = await outbound.get(url);
    if (result.kind === 'failed') throw new Error(`the source of rates: ${result.detail}`);
    if (result.status !== 200) throw new Error(`the source of rates answers ${result.status}`);
    return result.body;
  };
}
