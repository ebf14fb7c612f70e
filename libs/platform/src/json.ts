const texts = new WeakMap<object, string>();

/** JSON of an object, made once however often it is sent: a view goes into the answer and into the event. */
export function jsonOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  let text = texts.get(value);
  if (text === undefined) {
    text = JSON.stringify(value);
    texts.set(value, text);
  }
  return text;
}

/** JSON of an answer whose members may be views that have been serialised already. */
export function jsonOfAnswer(answer: object): string {
  const members = Object.entries(answer)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`);
  return `{${members.join(',')}}`;
}
