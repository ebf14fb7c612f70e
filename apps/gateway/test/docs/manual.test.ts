import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addressOf, Manual } from '../../src/docs/manual.js';
import { Services, signingKey, TestGateway, TestNats } from '../stand.js';

const root = new URL('../../../../', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, root), 'utf8');

let nats: TestNats;
let services: Services;
let gateway: TestGateway;

beforeAll(async () => {
  nats = await TestNats.start();
  services = await Services.start(nats.url, [(await signingKey('k1')).jwk]);
  gateway = await (await TestGateway.start(nats.url, { env: { BASE_URL: 'https://api.example.com' } })).ready();
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

/** Every page that links lead to, from the index on; each link that leads nowhere is a failure. */
async function walked(from: string): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const waiting = [from];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (pages.has(at)) continue;
    const { status, text, headers } = await gateway.send(at);
    expect([at, status, headers['content-type']]).toEqual([at, 200, 'text/html; charset=utf-8']);
    pages.set(at, text);
    for (const [, href = ''] of text.matchAll(/<a href="([^"]+)"/g)) {
      const { origin, pathname } = new URL(href, `http://here${at}`);
      if (origin === 'http://here' && !pathname.endsWith('.sh')) waiting.push(pathname);
    }
  }
  return pages;
}

describe('the manual', () => {
  it('is every page of docs, each reached from the index of the guides', async () => {
    const pages = await walked('/docs/guides/');
    const shown = ['', 'guides/'].flatMap(folder =>
      readdirSync(new URL(`docs/${folder}`, root))
        .filter(file => file.endsWith('.md'))
        .map(file => `/docs/${folder}${file.replace(/\.md$/, '').replace('README', '')}`),
    );
    expect([...pages.keys()]).toEqual(expect.arrayContaining(['/docs', '/docs/client', ...shown]));
    expect((await gateway.send('/docs/guides/shell.sh')).text).toBe(read('docs/guides/shell.sh'));
    expect((await gateway.send('/docs/guides')).headers.location).toBe('guides/');
  });

  it('leads with its links to headings that are there', async () => {
    const pages = await walked('/docs/guides/');
    const lost = [...pages].flatMap(([at, text]) =>
      [...text.matchAll(/<a href="([^"]*)#([^"]+)"/g)].filter(([, href = '', id]) => {
        const { origin, pathname } = new URL(href || at, `http://here${at}`);
        return origin === 'http://here' && !pages.get(pathname)?.includes(` id="${id}"`);
      }),
    );
    expect(lost.map(([link]) => link)).toEqual([]);
  });

  it('shows text as text, code as it is, and loads nothing from elsewhere', async () => {
    const { text, headers } = await gateway.send('/docs/guides/subscriptions');
    expect(text).toContain('<title>Subscriptions in ten minutes · recur</title>');
    expect(text).toContain('. docs/guides/shell.sh');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(text).not.toMatch(/<script|<style|style=|src=/);
    const { text: style } = await gateway.send('/docs/manual.css');
    expect(style).not.toMatch(/url\(|@import/);
  });

  it('is there as markdown, one page or all of them, with an index for machines', async () => {
    const page = await gateway.send('/docs/guides/subscriptions.md');
    expect([page.text.split('\n')[0], page.headers['content-type']]).toEqual([
      '# Subscriptions in ten minutes',
      'text/markdown; charset=utf-8',
    ]);
    const { text: index } = await gateway.send('/llms.txt');
    const linked = [...index.matchAll(/\]\(https:\/\/api\.example\.com(\/[^)]+)\)/g)].map(([, at = '']) => at);
    expect(linked.length).toBeGreaterThan(20);
    for (const at of linked) expect([at, (await gateway.send(at)).status]).toEqual([at, 200]);
    for (const at of linked.filter(each => each.endsWith('.md') && !each.includes('reference'))) {
      const { text } = await gateway.send(at);
      for (const [, href = ''] of text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)) {
        const { origin, pathname } = new URL(href, `http://here${at}`);
        if (origin === 'http://here')
          expect([at, href, (await gateway.send(pathname)).status]).toEqual([at, href, 200]);
      }
    }
    const { text: whole } = await gateway.send('/llms-full.txt');
    for (const { file, markdown } of new Manual().pages.filter(({ address }) => address !== 'api-reference')) {
      expect([file, whole.includes(markdown.trim())]).toEqual([file, true]);
    }
  });

  it('links to no file that is not served', () => {
    const known = new Map([
      ['docs/guides/README.md', 'guides/'],
      ['docs/guides/usage.md', 'guides/usage'],
      ['docs/api.md', 'api'],
    ]);
    const from = (href: string, file = 'docs/guides/usage.md') => addressOf(href, file, known);
    expect(from('../api.md#usage')).toBe('../api#usage');
    expect(from('README.md')).toBe('./');
    expect(from('guides/README.md', 'docs/api.md')).toBe('guides/');
    expect(from('guides/usage.md', 'docs/api.md')).toBe('guides/usage');
    expect(from('#here')).toBe('#here');
    expect(from('https://example.com/x.md')).toBe('https://example.com/x.md');
    expect(from('../../apps/billing/README.md')).toBe(undefined);
    expect(existsSync(new URL('docs/guides/README.md', root))).toBe(true);
  });
});
