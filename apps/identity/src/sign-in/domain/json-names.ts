const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/**
 * Whether an object in a JSON text, which is valid, has two members of one name. Parsers disagree on which of them
 * counts, so what is signed and what is read would not be the same.
 */
export function hasNameTwice(json: string): boolean {
  const open: (Set<string> | undefined)[] = [];
  let last = '';
  for (const [part] of json.matchAll(token)) {
    if (part === '{') open.push(new Set());
    else if (part === '[') open.push(undefined);
    else if (part === '}' || part === ']') open.pop();
    else if (part === ':') {
      const names = open.at(-1);
      const name: string = JSON.parse(last);
      if (names?.has(name)) return true;
      names?.add(name);
    }
    last = part;
  }
  return false;
}
