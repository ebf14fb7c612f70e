import { invalid } from '@recur/kernel';
import { dictionary } from '@zxcvbn-ts/language-common';

/** Shorter ones are refused by their length. */
const shortest = 8;
const common = new Set(dictionary['passwords-common'].filter(password => password.length >= shortest));

/**
 * Refuses a new password that is among the most common ones, which a guesser tries first; case does not make one rare.
 * Depends on the password alone, so the refusal says nothing about any member. Throws Rejected.
 */
export function requireUncommon(newPassword: string): void {
  if (!common.has(newPassword.toLowerCase())) return;
  throw invalid('/newPassword', 'newPassword is among the most common passwords: choose another one');
}
