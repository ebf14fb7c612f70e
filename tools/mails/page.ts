import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { simpleParser } from 'mailparser';

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string) => text.replace(/[&<>"']/g, sign => escapes[sign] ?? sign);

const page = (title: string, body: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; color: #1a1d21; }
  td { padding: 0.25rem 1rem 0.25rem 0; vertical-align: top; }
  pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; border-top: 1px solid #d5dae0; padding-top: 1rem; }
</style>
<h1>${escaped(title)}</h1>
${body}
</html>`;

/** Names of the e-mails in a folder, newest first. */
export function mailsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter(name => /^[\w.-]+\.eml$/.test(name) && !name.startsWith('.'))
      .sort()
      .reverse();
  } catch {
    return [];
  }
}

/** The list of e-mails, the newest 200. */
export async function listPage(folder: string): Promise<string> {
  const rows = mailsIn(folder)
    .slice(0, 200)
    .map(async name => {
      const { subject = '', to, date } = await simpleParser(readFileSync(path.join(folder, name)));
      const recipients = [to ?? []].flat().map(address => address.text);
      const cells = [date?.toISOString() ?? '', recipients.join(', ')].map(text => `<td>${escaped(text)}</td>`);
      return `<tr>${cells.join('')}<td><a href="/${name}">${escaped(subject)}</a></td></tr>`;
    });
  const table = `<table>${(await Promise.all(rows)).join('\n')}</table>`;
  return page('E-mails', rows.length > 0 ? table : '<p>There are none yet: invoice/send_email sends one.</p>');
}

/** The page of an e-mail, with links to its attachments. */
export async function mailPage(folder: string, name: string): Promise<string> {
  const { subject = '', text = '', from, to, attachments } = await simpleParser(readFileSync(path.join(folder, name)));
  const heads = [
    ['From', from?.text ?? ''],
    [
      'To',
      [to ?? []]
        .flat()
        .map(address => address.text)
        .join(', '),
    ],
  ].map(([head = '', value = '']) => `<tr><td>${head}</td><td>${escaped(value)}</td></tr>`);
  const files = attachments.map(
    ({ filename = 'file' }, at) => `<li><a href="/${name}/${at}">${escaped(filename)}</a></li>`,
  );
  const body = `<table>${heads.join('')}</table><pre>${escaped(text)}</pre><ul>${files.join('')}</ul>`;
  return page(subject, `${body}<p><a href="/">All e-mails</a></p>`);
}

/** An attachment of an e-mail; undefined for none. */
export async function attachmentOf(folder: string, name: string, at: number) {
  const { attachments } = await simpleParser(readFileSync(path.join(folder, name)));
  return attachments[at];
}
