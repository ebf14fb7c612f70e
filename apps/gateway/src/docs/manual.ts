import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked, type Tokens } from 'marked';
import { escaped } from '../pages/page.js';

/** The checkout or the image: what the manual is made of lies there. */
const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Pages of the manual: addresses below /docs by the file that is shown there. */
export type Addresses = ReadonlyMap<string, string>;

const reference = 'api-reference';
/** The functions that the guides call. */
const shell = 'docs/guides/shell.sh';

/** A page of the manual. */
export interface ManualPage {
  /** Where it is shown below /docs: `guides/usage`; `guides/` is the index. */
  address: string;
  /** Path in the repository. */
  file: string;
  markdown: string;
}

/**
 * The files of the manual: the guides in the order of their index, then the other docs and what is read with them. A file that
 * is not there is no page: the API works without its manual.
 */
function addresses(): Addresses {
  const index = 'docs/guides/README.md';
  const docs = isThere('docs') ? readdirSync(path.join(root, 'docs')).filter(file => file.endsWith('.md')) : [];
  const linked = isThere(index) ? [...textOf(index).matchAll(/\]\(([\w-]+\.md)\)/g)] : [];
  const pages: [file: string, address: string][] = [
    [index, 'guides/'],
    ...[...linked.map(([, file = '']) => `guides/${file}`), ...docs].map((file): [string, string] => [
      `docs/${file}`,
      file.replace(/\.md$/, ''),
    ]),
    [shell, shell.replace(/^docs\//, '')],
    ['libs/client/README.md', 'client'],
    ['CHANGELOG.md', 'changelog'],
    ['README.md', 'readme'],
  ];
  return new Map(pages.filter(([file]) => isThere(file)));
}

const isThere = (file: string) => existsSync(path.join(root, file));
const textOf = (file: string) => readFileSync(path.join(root, file), 'utf8');
const titleOf = ({ markdown, file }: ManualPage) => /^# (.+)$/m.exec(markdown)?.[1] ?? file;

/** The manual as it is on disk. */
export class Manual {
  private readonly addresses = addresses();
  readonly pages: readonly ManualPage[] = [...this.addresses]
    .filter(([file]) => file !== shell)
    .map(([file, address]) => ({ address, file, markdown: textOf(file) }));
  /** The functions that guides source; blank where they are not there. */
  readonly shell = isThere(shell) ? textOf(shell) : '';

  /** The document of a page. */
  html(page: ManualPage): string {
    return writtenPage(titleOf(page), page.address, rendered(page.markdown, page.file, this.addresses));
  }

  /** The markdown of a page, whose links lead to the markdown of others. */
  source({ markdown, file }: ManualPage): string {
    // code between backticks or fences has no links
    return markdown.replaceAll(/```[\s\S]*?```|`[^`\n]*`|\[([^\]]*)\]\(([^)\s]+)\)/g, (all, words, href) => {
      if (href === undefined) return all;
      const address = addressOf(href, file, this.addresses, sourceOf);
      return address === undefined ? words : `[${words}](${address})`;
    });
  }

  /** llms.txt: what there is to read, for machines. `baseUrl` is the public address. */
  index(baseUrl: string): string {
    const entry = (page: ManualPage) => `- [${titleOf(page)}](${baseUrl}/docs/${sourceOf(page.address)})`;
    const guides = this.pages.filter(({ address }) => address.startsWith('guides/'));
    const others = this.pages.filter(page => !guides.includes(page));
    return `# recur

${manualSummary}

## Guides

${guides.map(entry).join('\n')}

## Everything

- [All pages but the reference in one file](${baseUrl}/llms-full.txt)
- [OpenAPI description of every operation and webhook](${baseUrl}/openapi.json)

## Optional

${others.map(entry).join('\n')}
`;
  }

  /** All pages as one text, without the reference, which the OpenAPI document has. */
  whole(): string {
    return this.pages
      .filter(({ address }) => address !== reference)
      .map(page => `<!-- /docs/${sourceOf(page.address)} -->\n\n${page.markdown.trim()}\n`)
      .join('\n');
  }
}

/** Markdown as HTML. Headings have the ids of their words; links lead to pages of the manual, or are no links. */
function rendered(markdown: string, file: string, known: Addresses): string {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const words = this.parser.parseInline(tokens);
        const address = addressOf(href, file, known);
        return address === undefined ? words : `<a href="${escaped(address)}">${words}</a>`;
      },
      table(token: Tokens.Table) {
        const cells = (row: Tokens.TableCell[], tag: string) =>
          row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('');
        const rows = token.rows.map(row => `<tr>${cells(row, 'td')}</tr>`).join('\n');
        // scrolls by itself where it is wider than the page
        return `<div class="table"><table><tr>${cells(token.header, 'th')}</tr>\n${rows}</table></div>\n`;
      },
    },
  });
  return marked.parse(markdown, { async: false });
}

/** The id of a heading, as other readers of markdown make it. */
const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');

/** Where a link of a file leads, seen from its page, by what addresses become; undefined where that is not served. */
export function addressOf(
  href: string,
  file: string,
  known: Addresses,
  become = (address: string) => address,
): string | undefined {
  if (/^https?:/.test(href)) return href;
  const [target = '', anchor] = href.split('#');
  const fragment = anchor === undefined ? '' : `#${anchor}`;
  if (target === '') return fragment;
  const found = known.get(path.posix.join(path.posix.dirname(file), target));
  if (found === undefined) return undefined;
  const address = become(found);
  // from the folder of the page that links
  const folder = path.posix.dirname(`${known.get(file)}x`);
  return `${path.posix.relative(folder, address) || '.'}${address.endsWith('/') ? '/' : ''}${fragment}`;
}

/** The links above every page; `up` leads to `/docs/`. */
export const navTo = (up: string) =>
  `<nav><a href="${up}guides/">Guides</a> <a href="${up}api">How the API behaves</a> ` +
  `<a href="${up}../docs">Every operation</a></nav>`;

/** The document of a page: its links lead upwards to /docs, wherever that is. */
function writtenPage(title: string, address: string, content: string): string {
  const up = address.includes('/') ? '../' : './';
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escaped(title)} · recur</title>
    <link rel="icon" type="image/png" href="${up}favicon-32x32.png">
    <link rel="stylesheet" href="${up}manual.css">
  </head>
  <body>
    ${navTo(up)}
    <main>
${content}    </main>
  </body>
</html>
`;
}

/** Colours, and the links above every page. */
export const navStyle = `:root{color-scheme:light dark;--ground:#fff;--ink:#16191f;--edge:#d5d9e0;--soft:#f2f4f7;--link:#2447b8}
@media(prefers-color-scheme:dark){:root{--ground:#101318;--ink:#eceef2;--edge:#363d49;--soft:#191d24;--link:#9db5ff}}
nav{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;padding:.8rem 1.2rem;border-bottom:1px solid var(--edge);
font:600 1rem/1.6 system-ui,sans-serif}
nav a{color:var(--link)}
`;

/** The style of the manual's pages. */
export const manualStyle = `${navStyle}*{box-sizing:border-box}
body{margin:0;font:1rem/1.6 system-ui,sans-serif;color:var(--ink);background:var(--ground)}
main{max-width:60rem;margin:0 auto;padding:1rem 1.2rem 4rem;overflow-wrap:break-word}
a{color:var(--link)}
h1{font-size:1.9rem;line-height:1.25}h2{margin-top:2.5rem}
pre{padding:.9rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--soft);border-radius:.4rem;line-height:1.45}
pre:has(>code:not([class])){background:none;border:1px solid var(--edge)}
code{font:.88em ui-monospace,monospace;background:var(--soft);border-radius:.2rem;padding:.1em .25em}
pre code{padding:0;background:none}
.table{overflow-x:auto}
table{border-collapse:collapse}th,td{padding:.35rem .7rem;border:1px solid var(--edge);text-align:left;vertical-align:top}
th{background:var(--soft)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
`;

const manualSummary = `> Subscription billing behind one HTTP API: products and plans, subscriptions, metered usage, invoices with taxes, payments,
> refunds, and signed webhooks. The guides are pages of commands that run against a local stack.`;

/** The address of a page's markdown. */
export function sourceOf(address: string): string {
  if (address.endsWith('/')) return `${address}index.md`;
  return address.endsWith('.sh') ? address : `${address}.md`;
}
