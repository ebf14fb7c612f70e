import type { Operation } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { Sender } from '@recur/platform';
import type { FastifyRequest } from 'fastify';

/** Characters kept of a header that clients write freely. */
const limits = { userAgent: 255 } as const;

/**
 * The sender of a request, for operations that sign in or take an identity token; undefined for others.
 * Throws `invalid_parameters` unless exactly one of the operation's token headers is sent, once.
 */
export function senderOf({ oneOfHeaders, signIn }: Operation, request: FastifyRequest): Sender | undefined {
  if (oneOfHeaders === undefined && !signIn) return undefined;
  const { ip, headers, raw } = request;
  const sender: Sender = { ip, userAgent: (headers['user-agent'] ?? '').slice(0, limits.userAgent) };
  return oneOfHeaders === undefined
    ? sender
    : { ...sender, identityToken: sessionTokenIn(oneOfHeaders, raw.headersDistinct) };
}

/** The only token. Node joins repeated headers; here each counts. */
function sessionTokenIn(names: readonly string[], headers: Readonly<Record<string, string[] | undefined>>): string {
  const sent = names.flatMap(name => headers[name.toLowerCase()] ?? []).filter(token => token !== '');
  const [token] = sent;
  if (token !== undefined && sent.length === 1) return token;
  throw invalid(names.join(), `Exactly one of the headers ${names.join(', ')} must be sent, once; not ${sent.length}`);
}
