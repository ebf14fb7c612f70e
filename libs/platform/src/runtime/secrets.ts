import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Encrypts secrets at rest with AES-256-GCM. An envelope reads `v1.<key id>.<nonce>.<ciphertext+tag>` (base64url);
 * `where` (table, column, merchant, row) is authenticated with it, so that an envelope copied to another row is refused.
 */
export class Keyring {
  private readonly keys = new Map<string, Buffer>();
  /** Derived from the others, by purpose and id: no key has two uses. */
  private readonly derived = new Map<string, Buffer>();
  private readonly current: string;

  /** `spec`: `<id>:<base64 of 32 bytes>`, several separated by commas; the first encrypts, all decrypt. */
  constructor(spec: string) {
    for (const entry of spec.split(',')) {
      const colon = entry.indexOf(':');
      this.keys.set(entry.slice(0, colon), Buffer.from(entry.slice(colon + 1), 'base64'));
    }
    this.current = spec.slice(0, spec.indexOf(':'));
  }

  seal(secret: string, where: string): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.key(this.current), nonce).setAAD(Buffer.from(where));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `v1.${this.current}.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
  }

  /** Throws when the envelope was altered, belongs elsewhere, or its key is not in the ring. */
  open(envelope: string, where: string): string {
    const [version, id = '', nonce = '', sealed = ''] = envelope.split('.');
    if (version !== 'v1') throw new Error(`unknown envelope version ${version}`);
    const bytes = Buffer.from(sealed, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', this.key(id), Buffer.from(nonce, 'base64url'))
      .setAAD(Buffer.from(where))
      .setAuthTag(bytes.subarray(-16));
    return decipher.update(bytes.subarray(0, -16), undefined, 'utf8') + decipher.final('utf8');
  }

  /**
   * A digest that only this ring can make again: of what could be guessed from a plain one, such as a password. With
   * another current key it is another one.
   */
  digest(text: string): string {
    return String(this.mac(shared, this.current, `digest\n${text}`)?.toString('base64'));
  }

  /**
   * Signs what only holders of the keys may have written, for one purpose: `s2.<key id>.<HMAC-SHA-256>` (base64url). Each
   * purpose has a key of its own, and is part of what is signed.
   */
  sign(purpose: string, text: string): string {
    return `s2.${this.current}.${this.mac(of(purpose), this.current, `${purpose}\n${text}`)?.toString('base64url')}`;
  }

  /** True if a key of the ring has signed exactly this text for this purpose; `s1` is of before purposes had keys. */
  hasSigned(purpose: string, text: string, signature: string): boolean {
    const [version, id = '', mac = '', ...more] = signature.split('.');
    const expected = version === 's2' ? this.mac(of(purpose), id, `${purpose}\n${text}`) : this.mac(shared, id, text);
    const given = Buffer.from(mac, 'base64url');
    const isKnown = (version === 's1' || version === 's2') && more.length === 0;
    return isKnown && expected?.length === given.length && timingSafeEqual(expected, given);
  }

  private mac(use: string, id: string, text: string): Buffer | undefined {
    const key = this.keys.get(id);
    if (!key) return undefined;
    const place = `${id}\n${use}`;
    const own = this.derived.get(place) ?? Buffer.from(hkdfSync('sha256', key, '', use, 32));
    this.derived.set(place, own);
    return createHmac('sha256', own).update(text).digest();
  }

  private key(id: string): Buffer {
    const key = this.keys.get(id);
    if (!key) throw new Error(`no key ${id} in the ring`);
    return key;
  }
}

/** The use of a derived key: of digests and the signatures of before, and of the signatures of one purpose. */
const shared = 'recur signature v1';
const of = (purpose: string) => `recur signature v2 ${purpose}`;
