import { jsonOfAnswer } from './json.js';

const answersWritten = new WeakMap<object, string>();
const answersRead = new WeakSet<object>();

/**
 * Marks a command's answer with the bytes that a repeat gets, in which members that are an event's data have the event's
 * JSON; returns the answer. `emitted` finds an event by its data.
 */
export function markAnswer<T extends object>(answer: T, emitted: ReadonlyMap<object, { data: string }>): T {
  const bytes = jsonOfAnswer(answer, value => emitted.get(value)?.data);
  answersWritten.set(answer, bytes);
  return answer;
}

/** Marks what a read has returned: the answer of a command that writes nothing, such as a dry run. */
export function markRead<T>(answer: T): T {
  if (typeof answer === 'object' && answer !== null) answersRead.add(answer);
  return answer;
}

/** The bytes of an answer, as `Db` has returned it; undefined if it is another object. */
export function answerBytes(answer: object): string | undefined {
  return answersWritten.get(answer) ?? (answersRead.has(answer) ? jsonOfAnswer(answer) : undefined);
}
