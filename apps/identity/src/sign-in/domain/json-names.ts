const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/**
 * True if an object in a valid JSON text has a duplicate name. Parsers disagree on which member wins, so the signed
 * content and the content read could differ.
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
