const bytesOf = new WeakMap<object, string>();

/** Marks a command's answer with the bytes that were stored for a repeat; returns the answer. */
export function markAnswer<T extends object>(answer: T, bytes: string): T {
  bytesOf.set(answer, bytes);
  return answer;
}

/** The bytes of an answer that a write has returned; undefined if no write has. */
export const answerBytes = (answer: object): string | undefined => bytesOf.get(answer);
