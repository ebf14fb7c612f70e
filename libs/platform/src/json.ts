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

/**
 * JSON of an answer whose members may be views that have been serialised already; `instead` may give other JSON for a
 * member.
 */
export function jsonOfAnswer(answer: object, instead?: (value: object) => string | undefined): string {
  const members: string[] = [];
  for (const [name, value] of Object.entries(answer)) {
    if (value === undefined) continue;
    const other = typeof value === 'object' && value !== null ? instead?.(value) : undefined;
    members.push(`${JSON.stringify(name)}:${other ?? jsonOf(value)}`);
  }
  return `{${members.join(',')}}`;
}
