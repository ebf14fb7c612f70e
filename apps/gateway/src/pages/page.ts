import { createHash } from 'node:crypto';
import { fill, type Language, locales, preferredLanguage } from '@recur/kernel';
import type { FastifyReply } from 'fastify';
import type { Words } from './words/en.js';
import { pageWords } from './words/words.js';

/** The style of every page: that of the hosted pages, in few words. Pages load nothing. */
const pageStyle = `:root{color-scheme:light dark;--ground:#f6f7f9;--surface:#fff;--ink:#16191f;--edge:#d5d9e0;--soft:#565d69;
--brand:#2447b8;--on-brand:#fff;--link:#2447b8}
@media(prefers-color-scheme:dark){:root{--ground:#101318;--surface:#191d24;--ink:#eceef2;--edge:#363d49;--soft:#aab1bd;
--brand:#7b9bff;--on-brand:#0d1330;--link:#9db5ff}}
*{box-sizing:border-box}
body{margin:0;padding:1rem;font:1rem/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);overflow-wrap:anywhere}
main{max-width:34rem;margin:3rem auto;padding:1.5rem;background:var(--surface);border:1px solid var(--edge);border-radius:.7rem}
h1{margin:0 0 1rem;font-size:1.6rem;line-height:1.25}li{margin:.25rem 0}
form{display:flex;flex-wrap:wrap;gap:.6rem;margin-top:1.5rem}
button{font:inherit;font-weight:600;cursor:pointer;padding:.55rem 1rem;min-height:2.75rem;border-radius:.5rem;
border:1px solid var(--soft);background:transparent;color:var(--ink)}
button[value=true],button[value=approve]{background:var(--brand);border-color:var(--brand);color:var(--on-brand)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
main>:last-child{margin-bottom:0}
@media(max-width:30rem){main{margin:0}}`;
const styleHash = createHash('sha256').update(pageStyle).digest('base64');

/** Content security policy of a page: no frames, forms to this origin only, and redirects from there to `target`, an origin. */
const policyOf = (target = '') =>
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'; ` +
  `form-action 'self' ${/^https?:\/\/[\w.:[\]-]+$/.test(target) ? target : ''}`.trimEnd();

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
export const escaped = (text: string) => text.replaceAll(/[&<>"']/g, character => entities[character] ?? '');

/** A text of a page as HTML, with its parameters set off. */
export function marked(text: string, values: Readonly<Record<string, string>> = {}): string {
  const strong = Object.entries(values).map(([name, value]) => [name, `<strong>${escaped(value)}</strong>`]);
  return fill(escaped(text), Object.fromEntries(strong));
}

/** A page: its title, and the HTML below it. */
export interface Page {
  title: string;
  content: string;
}

/** A page of one sentence. */
export const messagePage = (title: string, message: string): Page => ({ title, content: `<p>${escaped(message)}</p>` });

/**
 * Sends a page in the language that the browser asks for. Its form leads to this origin, and redirects from there to
 * `target`, an origin.
 */
export function sendPage(reply: FastifyReply, pageIn: (words: Words, locale: string) => Page, target?: string): void {
  const language = preferredLanguage(reply.request.headers['accept-language'] ?? '');
  reply
    .header('content-security-policy', policyOf(target))
    .header('vary', 'accept-language')
    .type('text/html; charset=utf-8')
    .send(pageHtml(pageIn(pageWords[language], locales[language]), language));
}

const pageHtml = ({ title, content }: Page, language: Language) => `<!doctype html>
<html lang="${language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escaped(title)} · recur</title>
    <style>${pageStyle}</style>
  </head>
  <body>
    <main>
      <h1>${escaped(title)}</h1>
      ${content.replaceAll('\n', '\n      ')}
    </main>
  </body>
</html>
`;
