import { flag, int, integer, table, text } from '@recur/platform';

/** The use of a code; a code for one does nothing else. */
export type CodePurpose = 'login' | 'password';

/**
 * The latest code that was requested for an e-mail address. Addresses that no member has get a row too, with a code that is
 * sent to nobody, so that a later attempt does the same work for them.
 */
export interface MailedCode {
  purpose: CodePurpose;
  /** SHA-256 of the normalised e-mail, base64url. */
  emailHash: string;
  /** The e-mail, normalised. */
  email: string;
  /** Id of the request; another one replaces it. */
  request: string;
  /** Signed with the service's keys, since eight digits can be guessed from a plain hash; '' before it is made and once it is used. */
  codeHash: string;
  triesLeft: number;
  /** Unix seconds of the machine. */
  expireTime: number;
  /** True once there is nothing left to send for the request. */
  sent: boolean;
}

export const mailedCodes = table<MailedCode>('mailed_codes', {
  key: ['purpose', 'emailHash'],
  columns: {
    purpose: text<CodePurpose>(),
    emailHash: text(),
    email: text(),
    request: text(),
    codeHash: text(),
    triesLeft: int(),
    expireTime: integer(),
    sent: flag(),
  },
  checks: { mailed_codes_tries: 'tries_left >= 0' },
  indices: { mailed_codes_expire: { on: ['expireTime'] } },
  infrastructure: true,
});
