/** Controls, and signs that turn the direction of what follows. */
const unseen = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** A text of others as part of one line: names may hold anything. */
export const oneLine = (text: string): string => text.replace(unseen, ' ').replace(/\s+/g, ' ').trim();

/**
 * A name in the text of an e-mail: one line, and nothing that a mailbox would make a link of. An invisible word joiner
 * breaks what looks like an address: after the colon of `https://`, and after the dot of a host.
 */
export const nameInText = (text: string): string =>
  oneLine(text)
    .replace(/:(?=\/\/)/g, ':\u2060')
    .replace(/(?<=[\p{L}\p{N}-])\.(?=[\p{L}\p{N}]{2})/gu, '.\u2060');
