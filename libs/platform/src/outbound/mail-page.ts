const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, sign => escapes[sign] ?? sign);

const styles = {
  page: 'margin:0;padding:24px;background:#f4f4f5',
  sheet: 'max-width:560px;margin:0 auto;padding:32px;background:#fff;border-radius:8px;color:#18181b',
  text: 'font:16px/1.5 -apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif',
  link: 'color:#1d4ed8',
} as const;

/**
 * The text of an e-mail as a page: its paragraphs, in the direction of what they say. A line that ends in an address becomes
 * a link named by what stands before it.
 */
export function htmlOf(title: string, text: string): string {
  const paragraphs = text.split('\n\n').map(paragraph => {
    const lines = paragraph.split('\n').map(lineOf);
    return `<p dir="auto" style="margin:0 0 16px">${lines.join('<br>')}</p>`;
  });
  return (
    `<!doctype html><html><head><meta charset="utf-8"><title>${escaped(title)}</title></head>` +
    `<body style="${styles.page}"><div style="${styles.sheet};${styles.text}">${paragraphs.join('')}</div></body></html>`
  );
}

function lineOf(line: string): string {
  const [, name = '', address] = /^([^:：]+)[:：]\s*(https?:\/\/\S+)$/.exec(line) ?? [];
  if (address === undefined) return escaped(line);
  return `<a href="${escaped(address)}" style="${styles.link}">${escaped(name.trim())}</a>`;
}
