/** The key by which e-mail addresses are compared: case-insensitive. */
export const emailKey = (email: string): string => email.toLowerCase();

/**
 * True if a verified e-mail equals the requested one. Refuses an address in which lower-casing turns a non-ASCII letter
 * into an ASCII one (the Kelvin sign into k), since it would match somebody else's address.
 */
export const sameEmail = (verified: string, asked: string): boolean =>
  emailKey(verified.trim()) === emailKey(asked.trim()) && foreign(verified) === foreign(emailKey(verified));

const foreign = (text: string): number => text.replace(/[ -~]/g, '').length;
