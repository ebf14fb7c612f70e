import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLog } from '@recur/platform';
import { MovableClock } from '@recur/platform/testing';
import { transformSync } from '@swc/core';
import { renderPdf } from '../../src/documents/pdf/render.js';
import { DocumentRenderer } from '../../src/documents/renderer.js';
import { content, line } from './samples.js';

const billing = path.join(import.meta.dirname, '../..');
const log = createLog('test', 'silent');
const clock = new MovableClock();
let built: string;

/** The thread runs JavaScript of its own: what it consists of is translated, as a build does. */
beforeAll(async () => {
  const modules = path.join(billing, 'node_modules');
  await mkdir(modules, { recursive: true });
  built = mkdtempSync(path.join(modules, '.documents-'));
  const wing = path.join(billing, 'src/documents');
  for (const file of readdirSync(wing, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    const source = readFileSync(path.join(wing, file), 'utf8');
    const jsc = { parser: { syntax: 'typescript', decorators: true }, target: 'es2022' } as const;
    const target = path.join(built, 'documents', file.replace(/ts$/, 'js'));
    await mkdir(path.dirname(target), { recursive: true });
    writeFileSync(target, transformSync(source, { jsc, module: { type: 'es6' } }).code);
  }
  writeFileSync(path.join(built, 'package.json'), '{"type":"module"}');
});
afterAll(() => rmSync(built, { recursive: true }));

/** A renderer whose thread runs this file. */
class Threaded extends DocumentRenderer {
  protected override readonly entry: URL;
  constructor(file: string) {
    super(log, clock);
    this.entry = pathToFileURL(path.join(built, file));
  }
}

const script = (text: string) => {
  const file = `${Math.abs(text.length)}-${text.charCodeAt(text.length - 2)}.js`;
  writeFileSync(path.join(built, file), text);
  return file;
};

let answering = '';
beforeAll(() => {
  answering = script(`import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ number }) => {
      parentPort.postMessage(number === 'bad' ? { ok: false, reason: 'out of order' } : { ok: true, done: new Uint8Array([1]) });
    });`);
});

describe('the renderer', () => {
  it('makes in its thread what is made without one, in the order of the calls', async () => {
    const renderer = new Threaded('documents/pdf/worker.js');
    const documents = ['INV-000001', 'INV-000002', 'INV-000003'].map(number =>
      content({ number, lines: [line({ description: '你好' })] }),
    );
    const made = await Promise.all(documents.map(each => renderer.render(1, each)));
    const expected = await Promise.all(documents.map(each => renderPdf(each)));
    made.forEach((pdf, at) => {
      expect(Buffer.compare(pdf, expected[at] as Uint8Array)).toBe(0);
    });
    await renderer.onModuleDestroy();
  });

  it('tells why a document cannot be made, and makes the next', async () => {
    const renderer = new Threaded('documents/pdf/worker.js');
    await expect(renderer.render(1, content({ currency: 'none' }))).rejects.toThrow('none');
    expect((await renderer.render(1, content())).length).toBeGreaterThan(1_000);
    await renderer.onModuleDestroy();
  });

  it('starts a new thread where one has failed', async () => {
    const failing = script(`import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ number }) => {
        if (number === 'bad') throw new Error('out of order');
        parentPort.postMessage({ ok: true, done: new Uint8Array([1]) });
      });`);
    const renderer = new Threaded(failing);
    const [bad, good] = [renderer.render(1, content({ number: 'bad' })), renderer.render(1, content())];
    await expect(bad).rejects.toThrow('out of order');
    expect(await good).toEqual(new Uint8Array([1]));
    await renderer.onModuleDestroy();
  });

  it('takes only so many of a merchant, and drops them when it ends', async () => {
    const renderer = new Threaded(
      script(`import { parentPort } from 'node:worker_threads';
      parentPort.on('message', () => undefined);`),
    );
    const ask = (merchantId: number) => renderer.render(merchantId, content());
    const outcomes = Promise.allSettled([...Array.from({ length: 51 }, () => ask(1)), ask(2)]);
    await expect(ask(1)).rejects.toMatchObject({ slug: 'overloaded' });
    await renderer.onModuleDestroy();
    const slugs = (await outcomes).map(each => each.status === 'rejected' && each.reason.slug);
    expect(new Set(slugs)).toEqual(new Set(['overloaded']));
    await expect(ask(2)).rejects.toMatchObject({ slug: 'overloaded' });
  });

  it('lets merchants take turns: one that waits with fifty documents holds up none of the others', async () => {
    const renderer = new Threaded(answering);
    const done: number[] = [];
    const ask = (merchantId: number) => renderer.render(merchantId, content()).then(() => done.push(merchantId));
    const flood = Array.from({ length: 50 }, () => ask(1));
    await Promise.all([...flood, ask(2), ask(2), ask(3)]);
    // the one that was under way, and one per turn
    expect(done.slice(0, 6)).toEqual([1, 1, 2, 3, 1, 2]);
    expect(done).toHaveLength(53);
    await renderer.onModuleDestroy();
  });

  it('tries a document that failed not before a pause that doubles, and others at once', async () => {
    const renderer = new Threaded(answering);
    const bad = (merchantId = 1) => renderer.render(merchantId, content({ number: 'bad' }));
    for (const pause of [60, 120, 240]) {
      // those that wait for their turn are not tried either
      const asked = [bad(), bad(), bad(2)];
      await expect(asked[0]).rejects.toThrow('out of order');
      for (const again of [...asked.slice(1), bad()]) {
        await expect(again).rejects.toMatchObject({
          slug: 'overloaded',
          message: expect.stringContaining(`${pause} s`),
        });
      }
      expect(await renderer.render(1, content())).toEqual(new Uint8Array([1]));
      clock.advance(pause - 1);
      await expect(bad()).rejects.toMatchObject({ slug: 'overloaded', message: expect.stringContaining('1 s') });
      clock.advance(1);
    }
    await renderer.onModuleDestroy();
  });
});
