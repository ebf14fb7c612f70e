import type { Keyring } from '@recur/platform';
import { keyOf, openSecrets, type Sealed } from '../../endpoints/secrets.js';

const maxKept = 1_000;

/** Decrypted signing keys of endpoints, kept by their ciphertexts: a rotation changes these, and with them the keys. */
export class SigningKeys {
  private readonly kept = new Map<string, readonly Buffer[]>();

  constructor(private readonly keyring: Keyring) {}

  of(sealed: Sealed): readonly Buffer[] {
    const name = `${sealed.sealedSecret} ${sealed.sealedFormer}`;
    const known = this.kept.get(name);
    if (known) return known;
    const keys = openSecrets(this.keyring, sealed).map(keyOf);
    this.kept.set(name, keys);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= maxKept) break;
      this.kept.delete(oldest);
    }
    return keys;
  }
}
