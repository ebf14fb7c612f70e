import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

/** A mail server on loopback. */
export class Mailbox {
  /** What it has taken, as it came. */
  readonly mails: string[] = [];
  /** What recipients are refused with. */
  answer: { code: number; text: string } | undefined;
  private readonly server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, _session, done) => done(this.refusal()),
    onData: (stream, _session, done) => {
      text(stream).then(
        mail => {
          this.mails.push(mail);
          done();
        },
        (error: Error) => done(error),
      );
    },
  });

  static async open(): Promise<Mailbox> {
    const mailbox = new Mailbox();
    await new Promise<void>(resolve => mailbox.server.listen(0, '127.0.0.1', resolve));
    return mailbox;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.server.address() as AddressInfo).port}`;
  }

  clear(): void {
    this.mails.length = 0;
  }

  close(): Promise<void> {
    return new Promise(resolve => this.server.close(() => resolve()));
  }

  private refusal(): Error | undefined {
    return this.answer && Object.assign(new Error(this.answer.text), { responseCode: this.answer.code });
  }
}
