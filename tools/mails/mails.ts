import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mailFolder } from '../local/apps.js';
import { openHome } from '../local/home.js';
import { say } from '../local/progress.js';
import { attachmentOf, listPage, mailPage, mailsIn } from './page.js';

/** `npm run mails`: a page to read the e-mails that the local stack has sent, until Ctrl-C. */
export async function run(): Promise<number> {
  const server = await serveMails(mailFolder(openHome()));
  say(`The local stack's e-mails: http://127.0.0.1:${(server.address() as AddressInfo).port} (Ctrl-C ends this)`);
  await new Promise(resolve => process.once('SIGINT', resolve));
  server.close();
  return 0;
}

/** Serves the e-mails of a folder on a free port of this machine. */
export function serveMails(folder: string) {
  const server = createServer((request, response) => {
    answer(folder, request, response).catch(() => response.writeHead(500).end());
  });
  return new Promise<typeof server>(resolve => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function answer(folder: string, { url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, name = '', at] = url.split('/');
  response.setHeader('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
  response.setHeader('content-type', 'text/html; charset=utf-8');
  if (name === '') response.end(await listPage(folder));
  // a name from the list alone, never a path that a URL makes up
  else if (!mailsIn(folder).includes(name)) response.writeHead(404).end();
  else if (at === undefined) response.end(await mailPage(folder, name));
  else await sendAttachment(folder, name, Number(at), response);
}

async function sendAttachment(folder: string, name: string, at: number, response: ServerResponse): Promise<void> {
  const attachment = await attachmentOf(folder, name, at);
  if (attachment === undefined) {
    response.writeHead(404).end();
    return;
  }
  const isPdf = attachment.contentType === 'application/pdf';
  response.removeHeader('content-security-policy');
  response.setHeader('content-type', isPdf ? 'application/pdf' : 'application/octet-stream');
  response.end(attachment.content);
}
