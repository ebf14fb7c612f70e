import { randomBytes } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import { z } from 'zod';

export { htmlOf } from './mail-page.js';

/** Settings of a service that sends e-mails; each describes what they are to it. */
export const mailSettings = {
  SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  MAIL_FROM: z.string().min(3),
  MAIL_FOLDER: z.string().optional(),
};

/** The settings that say how e-mails go. */
export interface MailRoute {
  /** `smtp://user:password@host:587`, or smtps. */
  SMTP_URL?: string | undefined;
  /** A folder to write e-mails to instead. */
  MAIL_FOLDER?: string | undefined;
}

/** True if e-mails can be sent. */
export const hasMailRoute = ({ SMTP_URL, MAIL_FOLDER }: MailRoute): boolean => Boolean(SMTP_URL || MAIL_FOLDER);

/** An e-mail on its way. */
export interface Envelope {
  /** The same at each attempt, so that a mailbox can tell a repeat. */
  messageId: string;
  from: { name: string; address: string };
  replyTo: string;
  to: string;
  subject: string;
  text: string;
  /** The same as a page. */
  html: string;
  date: Date;
  attachments: readonly { filename: string; content: Uint8Array }[];
}

/** How an attempt went; `final`: another one would go the same way. */
export type Outcome = { sent: true; response: string } | { sent: false; response: string; final: boolean };

/** Hands e-mails to a mail server, or to what stands in for one. Never throws. */
export interface MailTransport {
  send(mail: Envelope): Promise<Outcome>;
  close(): void;
}

const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 } as const;

/** The transport that the settings name: a folder, a mail server, or none. */
export function transportOf({ MAIL_FOLDER, SMTP_URL }: MailRoute): MailTransport {
  if (MAIL_FOLDER) return folderTransport(MAIL_FOLDER);
  if (SMTP_URL) return smtpTransport(SMTP_URL);
  const response = 'No mail server is configured (SMTP_URL)';
  return { send: async () => ({ sent: false, response, final: true }), close: () => undefined };
}

/** A mail server over SMTP, with a few connections kept open. */
export function smtpTransport(url: string): MailTransport {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const server = createTransport({
    host: hostname,
    port: Number(port) || (secure ? 465 : 587),
    secure,
    ...(username && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    pool: true,
    maxConnections: 2,
    ...timeouts,
  });
  return {
    send: mail =>
      server.sendMail(messageOf(mail)).then(
        ({ response }): Outcome => ({ sent: true, response }),
        (error: unknown): Outcome => mailFailure(error),
      ),
    close: () => server.close(),
  };
}

/** A folder of .eml files, for a machine without a mail server. */
export function folderTransport(folder: string): MailTransport {
  const writer = createTransport({ streamTransport: true, buffer: true });
  return {
    async send(mail) {
      try {
        const { message } = await writer.sendMail(messageOf(mail));
        const name = `${mail.date.toISOString().replaceAll(':', '-')}-${randomBytes(4).toString('hex')}.eml`;
        await mkdir(folder, { recursive: true });
        // written under a hidden name first: a listing of the folder shows whole files only
        await writeFile(path.join(folder, `.${name}`), message as Buffer);
        await rename(path.join(folder, `.${name}`), path.join(folder, name));
        return { sent: true, response: `Written to ${name}` };
      } catch (error) {
        return mailFailure(error);
      }
    },
    close: () => writer.close(),
  };
}

// addresses as objects: none of them is read as a list
const messageOf = ({ replyTo, attachments, from, to, ...mail }: Envelope) => ({
  ...mail,
  from: { name: from.name, address: from.address },
  to: { name: '', address: to },
  ...(replyTo && { replyTo: { name: '', address: replyTo } }),
  // a user's texts may look like file names or URLs, which must not be read
  disableFileAccess: true,
  disableUrlAccess: true,
  attachments: attachments.map(({ filename, content }) => ({ filename, content: Buffer.from(content) })),
});

/** A refusal by code 5xx, or an address that cannot be one, is final; anything else may be better later. */
function mailFailure(error: unknown): Outcome {
  const { responseCode, code, response, message } = error as {
    responseCode?: number;
    code?: string;
    response?: string;
    message?: string;
  };
  // 5xx of a login is the deployment's mistake, not the recipient's
  const final = code === 'EENVELOPE' && (responseCode === undefined || responseCode >= 500);
  return { sent: false, response: (response || message || String(error)).slice(0, 1_000), final };
}

/** A mailbox written as `Name <address>`, or as an address alone. */
export function mailboxOf(text: string): { name: string; address: string } {
  const [, name = '', address = text.trim()] = /^\s*"?([^"<]*?)"?\s*<([^>]+)>\s*$/.exec(text) ?? [];
  return { name, address };
}
