import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';

const dist = path.join(import.meta.dirname, '../dist');
const read = (file: string) => readFileSync(path.join(dist, file), 'utf8');
/** Most JavaScript that a first visit loads, gzipped. */
const mostBytes = 120_000;

/** Files that the index names. */
const named = (html: string) => [...html.matchAll(/(?:src|href)="\/portal\/([^"]+)"/g)].map(([, file = '']) => file);

const scripts = () => readdirSync(path.join(dist, 'assets')).filter(file => file.endsWith('.js'));
const isMessages = (file: string) => /^(en|de|es|fr|zh)-/.test(file);

/** Scripts that are loaded together: these, and what they import in turn, but for what is loaded only when needed. */
function together(...first: string[]): string[] {
  const all = [...new Set(first)];
  for (const file of all) {
    const imported = [...read(`assets/${file}`).matchAll(/(?:from|import)\s*["'`]\.\/([^"'`]+)["'`]/g)];
    for (const [, next = ''] of imported) if (!all.includes(next)) all.push(next);
  }
  return all;
}

/** Gzipped bytes of a first visit to each page: the index, the code of the page, and the largest file of messages. */
function firstVisits(): number[] {
  const bytes = (files: string[]) => files.reduce((sum, file) => sum + gzipSync(read(`assets/${file}`)).length, 0);
  const index = named(read('index.html')).flatMap(file => (file.endsWith('.js') ? [path.basename(file)] : []));
  const messages = Math.max(...scripts().flatMap(file => (isMessages(file) ? [bytes([file])] : [])));
  const pages = scripts().filter(file => !isMessages(file));
  return pages.map(page => bytes(together(...index, page)) + messages);
}

describe('the built pages', () => {
  it('are there', () => {
    expect(existsSync(path.join(dist, 'index.html'))).toBe(true);
    expect(named(read('index.html')).filter(file => !existsSync(path.join(dist, file)))).toEqual([]);
  });

  it('load at most 120 kB of gzipped JavaScript on a first visit', () => {
    const visits = firstVisits();
    expect(visits.length).toBeGreaterThan(3);
    expect(Math.min(...visits)).toBeGreaterThan(30 * 1024);
    expect(Math.max(...visits)).toBeLessThanOrEqual(mostBytes);
  });

  it('have nothing inline, which the policy would refuse', () => {
    const inline = (html: string) => /<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/.test(html);
    expect(inline('<script>1</script>')).toBe(true);
    expect(inline(read('index.html'))).toBe(false);
  });

  it('are laid out by the start and the end of a line, never by left and right', () => {
    const sides = (css: string) => css.match(/(?<![\w-])(?:[\w-]+-)?(?:left|right)(?![\w-])/g) ?? [];
    expect(sides('a { margin-left: 1px; text-align: right; left: 0 } .left-over { inset-inline-start: 0 }')).toEqual([
      'margin-left',
      'right',
      'left',
    ]);
    expect(sides(readFileSync(path.join(dist, '../src/styles.css'), 'utf8'))).toEqual([]);
  });

  it('keep nothing in the browser and carry no schemas or server modules', () => {
    const faults = (text: string) =>
      [
        'localStorage',
        'sessionStorage',
        'indexedDB',
        'document.cookie',
        'ZodObject',
        'nestjs',
        'require("node:',
      ].filter(word => text.includes(word));
    expect(faults('localStorage.token = 1')).toEqual(['localStorage']);
    expect(scripts().flatMap(file => faults(read(`assets/${file}`)))).toEqual([]);
  });
});
