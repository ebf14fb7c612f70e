import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { serveMails } from '../mails/mails.js';

const mail = [
  'From: Billing <billing@example.com>',
  'To: ada@example.com',
  'Subject: <b>Invoice</b>',
  'Date: Thu, 15 Jan 2026 12:00:00 +0000',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=x',
  '',
  '--x',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Attached is <i>your</i> invoice.',
  '--x',
  'Content-Type: application/pdf',
  'Content-Disposition: attachment; filename="INV-1.pdf"',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from('%PDF-1.7').toString('base64'),
  '--x--',
].join('\r\n');

const folder = mkdtempSync(path.join(tmpdir(), 'mails-'));
const name = '2026-01-15T12-00-00.000Z-00000000.eml';
let server: Awaited<ReturnType<typeof serveMails>>;
let base: string;
beforeAll(async () => {
  server = await serveMails(folder);
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});
const get = async (at: string) => {
  const response = await fetch(`${base}${at}`, { headers: { connection: 'close' } });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};

it('says so where there are no e-mails', async () => {
  expect((await get('/')).text).toContain('There are none yet');
});

it('lists e-mails, shows one as text, and serves its attachments', async () => {
  writeFileSync(path.join(folder, name), mail);
  const list = await get('/');
  for (const part of ['ada@example.com', '&lt;b&gt;Invoice', `href="/${name}"`]) expect(list.text).toContain(part);
  const shown = await get(`/${name}`);
  for (const part of ['Attached is &lt;i&gt;your&lt;/i&gt; invoice.', `href="/${name}/0">INV-1.pdf`])
    expect(shown.text).toContain(part);
  expect(await get(`/${name}/0`)).toEqual({ status: 200, type: 'application/pdf', text: '%PDF-1.7' });
});

it.each(['/nowhere.eml', '/..%2fsecret.eml', `/${name}/7`])('%s is not found', async at => {
  expect((await get(at)).status).toBe(404);
});
