import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLog } from '@recur/platform';
import { transformSync } from '@swc/core';
import { renderPdf } from '../../src/documents/pdf/render.js';
import { DocumentRenderer } from '../../src/documents/renderer.js';
import { content, line } from './samples.js';

const billing = path.join(import.meta.dirname, '../..');
const log = createLog('test', 'silent');
let built: string;

/** The thread runs JavaScript of its own: what it consists of is translated, as a build does. */
beforeAll(async () => {
  built = mkdtempSync(path.join(billing, 'node_modules/.documents-'));
  for (const wing of ['documents', 'language']) {
    for (const file of readdirSync(path.join(billing, 'src', wing), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const source = readFileSync(path.join(billing, 'src', wing, file), 'utf8');
      const jsc = { parser: { syntax: 'typescript', decorators: true }, target: 'es2022' } as const;
      const target = path.join(built, wing, file.replace(/ts$/, 'js'));
      await mkdir(path.dirname(target), { recursive: true });
      writeFileSync(target, transformSync(source, { jsc, module: { type: 'es6' } }).code);
    }
  }
  writeFileSync(path.join(built, 'package.json'), '{"type":"module"}');
});
afterAll(() => rmSync(built, { recursive: true }));

/** A renderer whose thread runs this file. */
class Threaded extends DocumentRenderer {
  protected override readonly entry: URL;
  constructor(file: string) {
    super(log);
    this.entry = pathToFileURL(path.join(built, file));
  }
}

const script = (text: string) => {
  const file = `${Math.abs(text.length)}-${text.charCodeAt(text.length - 2)}.js`;
  writeFileSync(path.join(built, file), text);
  return file;
};

describe('the renderer', () => {
  it('makes in its thread what is made without one, in the order of the calls', async () => {
    const renderer = new Threaded('documents/pdf/worker.js');
    const documents = ['INV-000001', 'INV-000002', 'INV-000003'].map(number =>
      content({ number, lines: [line({ description: '你好' })] }),
    );
    const made = await Promise.all(documents.map(each => renderer.render(each)));
    const expected = await Promise.all(documents.map(each => renderPdf(each)));
    made.forEach((pdf, at) => {
      expect(Buffer.compare(pdf, expected[at] as Uint8Array)).toBe(0);
    });
    await renderer.onModuleDestroy();
  });

  it('tells why a document cannot be made, and makes the next', async () => {
    const renderer = new Threaded('documents/pdf/worker.js');
    await expect(renderer.render(content({ currency: 'none' }))).rejects.toThrow('a document could not be rendered');
    expect((await renderer.render(content())).length).toBeGreaterThan(1_000);
    await renderer.onModuleDestroy();
  });

  it('starts a new thread where one has failed', async () => {
    const failing = script(`import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ number }) => {
        if (number === 'bad') throw new Error('out of order');
        parentPort.postMessage({ ok: true, bytes: new Uint8Array([1]) });
      });`);
    const renderer = new Threaded(failing);
    const [bad, good] = [renderer.render(content({ number: 'bad' })), renderer.render(content())];
    await expect(bad).rejects.toThrow('out of order');
    expect(await good).toEqual(new Uint8Array([1]));
    await renderer.onModuleDestroy();
  });

  it('takes only so many at once, and drops them when it ends', async () => {
    const renderer = new Threaded(
      script(`import { parentPort } from 'node:worker_threads';
      parentPort.on('message', () => undefined);`),
    );
    const waiting = Array.from({ length: 101 }, () => renderer.render(content()));
    const outcomes = Promise.allSettled(waiting);
    expect(() => renderer.render(content())).toThrow(expect.objectContaining({ slug: 'overloaded' }));
    await renderer.onModuleDestroy();
    expect((await outcomes).every(({ status }) => status === 'rejected')).toBe(true);
  });
});
