import type { CodePurpose } from './tables.js';

const words = {
  login: { title: 'Your sign-in code', text: 'Your code for signing in is' },
  password: { title: 'Your code for a new password', text: 'Your code for setting a new password is' },
} as const satisfies Record<CodePurpose, { title: string; text: string }>;

/** Subject and text of the e-mail with a code. Members have no language: it is in English. */
export function codeMail(purpose: CodePurpose, code: string): { title: string; content: string } {
  const { title, text } = words[purpose];
  const content = [
    'Hello,',
    `${text}:\n${code}`,
    'It works once, within 10 minutes. Give it to nobody.',
    'If you did not request it, you can ignore this e-mail: without the code, nothing changes.',
  ];
  return { title, content: content.join('\n\n') };
}
