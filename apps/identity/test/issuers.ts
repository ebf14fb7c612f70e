import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { http, type Listening } from '@recur/platform/testing';

export type Json = Record<string, unknown>;
/** A part of a token; texts and bytes are used verbatim. */
type Part = Json | string | Buffer;

/** A key pair of an issuer that signs tokens. */
export class Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;

  constructor(readonly kid: string) {
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
    this.privateKey = createPrivateKey(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    this.publicKey = createPublicKey(pair.publicKey.export({ type: 'spki', format: 'pem' }));
  }

  get pem(): string {
    return String(this.publicKey.export({ type: 'spki', format: 'pem' }));
  }

  get jwk(): Json {
    return { ...this.publicKey.export({ format: 'jwk' }), kid: this.kid, use: 'sig', alg: 'RS256' };
  }

  /** Signs with RS256, whatever the header says. */
  token(claims: Part, header: Json | string = {}): string {
    const more = typeof header === 'string' ? header : { alg: 'RS256', kid: this.kid, ...header };
    return signed(more, claims, data => sign('sha256', data, this.privateKey));
  }
}

/** A compact JWS built by hand, so that malformed ones can be written. Texts are used verbatim. */
export function signed(header: Part, claims: Part, signature: (data: Buffer) => Buffer): string {
  const part = (value: Part) =>
    Buffer.from(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value)).toString(
      'base64url',
    );
  const data = `${part(header)}.${part(claims)}`;
  return `${data}.${signature(Buffer.from(data)).toString('base64url')}`;
}

export const hmac =
  (secret: string | Buffer, hash = 'sha256') =>
  (data: Buffer) =>
    createHmac(hash, secret).update(data).digest();

/** An identity provider's key endpoint on this machine that can be rotated, slowed down and switched off. */
export class KeyServer {
  fetches = 0;
  /** Runs before each answer. */
  before: () => Promise<void> | void = () => undefined;
  status = 200;

  private constructor(
    private readonly server: Listening,
    public keys: Json[],
  ) {}

  static async start(keys: Json[]): Promise<KeyServer> {
    let started: KeyServer | undefined;
    const server = await http(async (_, response) => {
      if (started === undefined) return;
      started.fetches++;
      await started.before();
      response.writeHead(started.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ keys: started.keys }));
    });
    started = new KeyServer(server, keys);
    return started;
  }

  get url(): string {
    return `${this.server.url}jwks`;
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
