/** JSON of an answer; `instead` may replace the JSON of a member that is an object. */
export function jsonOfAnswer(answer: object, instead?: (value: object) => string | undefined): string {
  const members: string[] = [];
  for (const [name, value] of Object.entries(answer)) {
    if (value === undefined) continue;
    const other = typeof value === 'object' && value !== null ? instead?.(value) : undefined;
    members.push(`${JSON.stringify(name)}:${other ?? JSON.stringify(value)}`);
  }
  return `{${members.join(',')}}`;
}
