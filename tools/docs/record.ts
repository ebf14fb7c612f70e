import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { operations } from '@recur/contracts';
import { checkoutRoot } from '../local/home.js';
import { say } from '../local/progress.js';
import { temporaryStack } from '../local/temporary.js';
import { formatted } from './formatted.js';
import { follow } from './guide.js';

/*
 * Records the examples of the OpenAPI document: follows every guide against a stack of its own, and keeps the first request
 * and answer of each operation. `node tools/dist/docs/record.js`, after a build.
 */

const publicUrl = 'https://recur.example.com';
/** Longer ones would fill the document with the same fields again. */
const mostChars = 12_000;
const secrets: Readonly<Record<string, string>> = {
  secret: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  clientToken: 'eyJhbGciOiJFZERTQSJ9.e30.signature',
};

type Example = { request: unknown; response: unknown };
const recorded = new Map<string, Example>();

function keep(operationPath: string, request: unknown, text: string, baseUrl: string): void {
  const name = operations.find(operation => operation.path === operationPath)?.name;
  // addresses of this machine mean nothing to readers
  const response = JSON.parse(
    text.replaceAll(baseUrl, publicUrl).replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'https://shop.example.com'),
    (key, value) => secrets[key] ?? value,
  );
  if (name === undefined || recorded.has(name) || response.code !== 0 || text.length > mostChars) return;
  recorded.set(name, { request, response });
}

/** A query's fields as the operation reads them: numbers in decimal, lists as repeated keys are not among the guides'. */
const fieldsOf = (query: URLSearchParams) =>
  Object.fromEntries([...query].map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]));

const stack = await temporaryStack(say);
const { baseUrl } = stack.facts();
const proxy = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { host: _, connection: __, ...headers } = request.headers as Record<string, string>;
  const { method = 'GET', url = '/' } = request;
  const body = Buffer.concat(chunks);
  const answer = await fetch(`${baseUrl}${url}`, { method, headers, ...(method === 'POST' && { body }) });
  const text = await answer.text();
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(text);
  const { pathname, searchParams } = new URL(url, baseUrl);
  const isJson = headers['content-type'] === 'application/json';
  if (isJson || method === 'GET')
    keep(pathname, isJson ? JSON.parse(String(body)) : fieldsOf(searchParams), text, baseUrl);
});
await once(proxy.listen(0, '127.0.0.1'), 'listening');

try {
  const folder = path.join(checkoutRoot(), 'docs/guides');
  for (const page of readdirSync(folder).filter(file => file.endsWith('.md'))) {
    const { apiKey } = await stack.merchant(page);
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await follow(readFileSync(path.join(folder, page), 'utf8'), { baseUrl: address, apiKey });
    say(`${page}: ${recorded.size} operations`);
  }
  const file = 'apps/gateway/src/docs/examples.json';
  const sorted = Object.fromEntries([...recorded].sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(path.join(checkoutRoot(), file), formatted(JSON.stringify(sorted), file));
} finally {
  proxy.close();
  await stack.close();
}
