/** What makes two e-mail addresses the same: upper and lower case count alike. */
export const emailKey = (email: string): string => email.toLowerCase();

/**
 * Whether a verified e-mail is the one that was asked for. One in which a letter outside ASCII becomes one inside when it
 * is lowered (the Kelvin sign, a k) is nobody's: it would be taken for another.
 */
export const sameEmail = (verified: string, asked: string): boolean =>
  emailKey(verified.trim()) === emailKey(asked.trim()) && foreign(verified) === foreign(emailKey(verified));

const foreign = (text: string): number => text.replace(/[ -~]/g, '').length;
