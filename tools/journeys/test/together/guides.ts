import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { follow, type Seen, shapeOf, stepsOf } from '../../../docs/guide.js';
import { checkoutRoot } from '../../../local/home.js';
import { sharedStand } from '../stand.js';

const read = (file: string) => readFileSync(path.join(checkoutRoot(), file), 'utf8');
const pages = readdirSync(path.join(checkoutRoot(), 'docs/guides'))
  .filter(file => file.endsWith('.md'))
  .map(file => `docs/guides/${file}`)
  .concat('README.md');
/** The part of a page that is run: all of a guide, and the first invoice of the README. */
const textOf = (page: string) =>
  page === 'README.md' ? (/^## A first invoice$[\s\S]*?(?=^## )/m.exec(read(page))?.[0] ?? '') : read(page);
const guides = pages.filter(page => stepsOf(textOf(page)).length > 0);

/** Outputs of commands that differ from the page; a block that shows nothing is one that says nothing. */
const differing = (seen: readonly Seen[]) =>
  seen
    .map(({ line, said, prints = '' }) => ({ line, said: shapeOf(said), prints: shapeOf(prints) }))
    .filter(({ said, prints }) => said !== prints);

describe('guides', () => {
  const seen = new Map<string, Promise<Seen[]>>();
  beforeAll(async () => {
    const { stack } = await sharedStand();
    const { baseUrl } = stack.facts();
    // one after the other: commands that make merchants at the same time write to, and remove, the same log
    const waiting: { page: string; apiKey: string }[] = [];
    for (const page of guides) waiting.push({ page, apiKey: (await stack.merchant(`Guide ${page}`)).apiKey });
    const walk = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { page, apiKey } = next;
        const walked = follow(textOf(page), { baseUrl, apiKey });
        seen.set(page, walked);
        await walked.catch(() => undefined);
      }
    };
    // each is mostly waiting for a clock, and a merchant's clock waits for no other's
    await Promise.all([walk(), walk(), walk()]);
  }, 600_000);

  it.each(guides)('%s runs from top to bottom, and prints what it shows', async page => {
    expect(differing((await seen.get(page)) ?? [])).toEqual([]);
  });

  it('are read as their readers do: what fails, and what prints otherwise, is found', async () => {
    const facts = { baseUrl: 'http://127.0.0.1:1', apiKey: 'none' };
    const page = (...blocks: string[]) => blocks.map(block => `text\n\n\`\`\`${block}\n\`\`\`\n`).join('\n');
    const good = page('sh\nA=1', 'js\n// one.mjs\nconsole.log(2);', 'sh\nnode one.mjs; echo $A', '\n2\n1');
    expect(differing(await follow(good, facts))).toEqual([]);
    expect(differing(await follow(page('sh\necho 1', '\n2'), facts))).toEqual([{ line: 3, said: '1', prints: '2' }]);
    expect(differing(await follow(page('sh\necho 1'), facts))).toEqual([{ line: 3, said: '1', prints: '' }]);
    await expect(follow(page('sh\ntrue', 'sh\nfalse | true'), facts)).rejects.toThrow('line 9: exit code 1');
    expect(() => stepsOf(page('js\nlost'))).toThrow('line 3');
    expect(shapeOf('INV-000017 2027-03-01 00:00 11662')).toBe(shapeOf('INV-000002 2031-03-01 00:00 11662'));
    expect(shapeOf('11662')).not.toBe(shapeOf('11663'));
  });
});
