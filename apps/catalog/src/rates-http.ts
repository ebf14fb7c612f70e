import type { RateSource } from './rates-worker.js';
import { limits } from './rates-xml.js';

const DEADLINE_MS = 15_000;

/**
 * Rates from a URL that the operator has set. A redirect is a failure, and so is what is too long or takes too long; the
 * deadline is over everything, the last byte included. Throws Error, saying what came of it.
 */
export const httpSource =
  (url: string, deadlineMs = DEADLINE_MS): RateSource =>
  async () => {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(deadlineMs) });
    if (response.status !== 200 || !response.body) {
      await response.body?.cancel();
      throw new Error(`the source of rates answers ${response.status}`);
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body) {
      chunks.push(chunk);
      size += chunk.length;
      // leaving the loop closes the connection
      if (size > limits.bytes) throw new Error(`the source of rates answers more than ${limits.bytes} bytes`);
    }
    return Buffer.concat(chunks).toString('utf8');
  };
