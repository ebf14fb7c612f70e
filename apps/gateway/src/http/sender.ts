import type { Operation } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Sender } from '@recur/platform';
import type { FastifyRequest } from 'fastify';

/** Of a header that people write, this much is kept. */
const limits = { userAgent: 255 } as const;

/**
 * Where a request came from, for operations that sign somebody in or take an identity token; others need not know.
 * Throws `invalid_parameters` unless exactly one of the operation's token headers is sent, once.
 */
export function senderOf({ oneOfHeaders, signIn }: Operation, request: FastifyRequest): Sender | undefined {
  if (oneOfHeaders === undefined && !signIn) return undefined;
  const { ip, headers, raw } = request;
  const sender: Sender = { ip, userAgent: (headers['user-agent'] ?? '').slice(0, limits.userAgent) };
  return oneOfHeaders === undefined ? sender : { ...sender, identityToken: tokenIn(oneOfHeaders, raw.headersDistinct) };
}

/** The one token. Node joins what a header says twice; here each time counts. */
function tokenIn(names: readonly string[], headers: Readonly<Record<string, string[] | undefined>>): string {
  const sent = names.flatMap(name => headers[name.toLowerCase()] ?? []).filter(token => token !== '');
  const [token] = sent;
  if (token !== undefined && sent.length === 1) return token;
  throw invalid(names.join(), `Exactly one of the headers ${names.join(', ')} must be sent, once; not ${sent.length}`);
}
