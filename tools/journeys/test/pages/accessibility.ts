import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Folder for pictures of the pages; there are none without it. */
const pictures = process.env.PAGE_PICTURES ?? '';
const widths = [375, 1280] as const;
const schemes = ['light', 'dark'] as const;

interface Found {
  violations: { impact: string; id: string; nodes: { html: string }[] }[];
}

/** Serious violations of the rules of axe, in windows of a phone and a desktop, in both themes. */
export async function faults(page: Page): Promise<string[]> {
  const found: string[] = [];
  await page.evaluate(axe);
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      // of the rules, only that of contrast looks at colours
      const rules = colorScheme === 'light' ? '' : `{ runOnly: ['color-contrast'] }`;
      const { violations } = (await page.evaluate(`axe.run(${rules})`)) as Found;
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      const where = `${width} ${colorScheme}`;
      found.push(...serious.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${where} ${id}: ${html}`)));
    }
  }
  return found;
}

/** Windows of a phone and a desktop into which the page does not fit; takes its pictures. */
export async function tooNarrow(page: Page, name: string): Promise<number[]> {
  const found: number[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) found.push(width);
    for (const colorScheme of pictures ? schemes : []) {
      await page.emulateMedia({ colorScheme });
      await photograph(page, `${name}-${width}-${colorScheme}`);
    }
  }
  return found;
}

async function photograph(page: Page, name: string): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: path.join(pictures, `${name.replaceAll(/\W+/g, '-')}.png`), fullPage: true });
}

/** The messages of the pages in a language. */
export function messagesOf(language: string): (key: string) => string {
  const file = new URL(`../../../../apps/portal/src/text/messages/${language}.json`, import.meta.url);
  const messages = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  return key => {
    const message = messages[key];
    if (message === undefined) throw new Error(`there is no message ${key}`);
    return message;
  };
}
