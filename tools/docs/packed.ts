const width = 116;

/** JSON for people: what fits on a line stands on one, short members share lines. Parses to the same value. */
export function packed(value: unknown, indent = ''): string {
  const flat = JSON.stringify(value);
  if (indent.length + flat.length <= width || typeof value !== 'object' || value === null) return spaced(value);
  const deeper = `${indent}  `;
  const members = Array.isArray(value)
    ? value.map(entry => packed(entry, deeper))
    : Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${packed(member, deeper)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${flowed(members, deeper)}\n${indent}${close}`;
}

/** Members side by side as far as the line goes; one of several lines stands alone. */
function flowed(members: readonly string[], indent: string): string {
  const lines: string[] = [];
  let line = '';
  members.forEach((member, at) => {
    const text = at === members.length - 1 ? member : `${member},`;
    const fits = line !== '' && !text.includes('\n') && !line.includes('\n') && `${line} ${text}`.length <= width;
    if (fits) line = `${line} ${text}`;
    else {
      if (line !== '') lines.push(line);
      line = indent + text;
    }
  });
  return [...lines, line].join('\n');
}

function spaced(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${spaced(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
