import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Encodings by preference among those that a client accepts equally. */
const encodings = ['br', 'gzip', 'identity'] as const;
type Encoding = (typeof encodings)[number];

/** A text that does not change, in each of its encodings, with a strong ETag for each. */
export class Compressed {
  private readonly variants: Readonly<Record<Encoding, { bytes: Buffer; etag: string }>>;

  constructor(
    text: string,
    private readonly type: string,
  ) {
    const bytes = Buffer.from(text);
    const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    this.variants = {
      br: { bytes: brotliCompressSync(bytes, { params }), etag: `"${digest}-br"` },
      gzip: { bytes: gzipSync(bytes, { level: 9 }), etag: `"${digest}-gzip"` },
      identity: { bytes, etag: `"${digest}"` },
    };
  }

  /** Answers 200, or 304 to a client that names the ETag of what it would get. Caches have to ask again each time. */
  send({ headers }: FastifyRequest, reply: FastifyReply): void {
    const encoding = encodingOf(headers['accept-encoding']);
    const { bytes, etag } = this.variants[encoding];
    reply.headers({ etag, vary: 'accept-encoding', 'cache-control': 'no-cache' });
    if (names(headers['if-none-match'], etag)) {
      reply.code(304).send();
      return;
    }
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    reply.type(this.type).send(bytes);
  }
}

/** RFC 9110, 12.5.3; what a client refuses altogether is sent as it is. */
function encodingOf(accepted: string | string[] = ''): Encoding {
  const weights = new Map<string, number>();
  for (const part of String(accepted).toLowerCase().split(',')) {
    const [, name = '', q = '1'] = /^\s*([\w*-]+)\s*(?:;\s*q=([\d.]+))?\s*$/.exec(part) ?? [];
    if (name !== '') weights.set(name, Number(q) || 0);
  }
  const weightOf = (encoding: Encoding) =>
    weights.get(encoding) ?? (encoding === 'identity' ? 0 : weights.get('*')) ?? 0;
  const [best] = encodings.toSorted((one, other) => weightOf(other) - weightOf(one));
  return best !== undefined && weightOf(best) > 0 ? best : 'identity';
}

/** RFC 9110, 13.1.2: compared weakly, as proxies may have marked it. */
function names(ifNoneMatch: string | undefined, etag: string): boolean {
  const named = (ifNoneMatch ?? '').split(',').map(each => each.trim().replace(/^W\//, ''));
  return named.includes(etag) || named.includes('*');
}
