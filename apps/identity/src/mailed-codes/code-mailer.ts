import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import {
  CLOCK,
  type Clock,
  CONFIG,
  Db,
  fetchedWork,
  LOG,
  type Log,
  systemCaller,
  type Work,
  type WorkItem,
} from '@recur/platform';
import { type Envelope, htmlOf, type MailTransport, mailboxOf, transportOf } from '@recur/platform/mail';
import type { Config } from '../config.js';
import { codeMail } from './code-mail.js';
import { CODE_WORK, type MadeCode, MailedCodes } from './mailed-codes.js';
import { recipientsOf } from './recipients.js';

/** The e-mails that one replica sends at once, and the time that they may take together. */
const limits = { batch: 8, leaseSeconds: 180 } as const;

/**
 * Makes requested codes and sends them to those whom they are for; an address of nobody gets a code that is not sent.
 * Where the mail server fails, another attempt has another code. No table holds a code that could be read.
 */
@Injectable()
export class CodeMailer implements OnModuleDestroy {
  readonly work: Work;
  private readonly transport: MailTransport;
  private readonly from: Envelope['from'];

  constructor(
    private readonly db: Db,
    private readonly codes: MailedCodes,
    @Inject(CONFIG) config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.transport = transportOf(config);
    this.from = mailboxOf(config.MAIL_FROM);
    this.work = fetchedWork(
      CODE_WORK,
      { time: 'machine', ...limits, logged: false },
      async items => {
        const failures = await Promise.all(items.map(item => this.deliver(item)));
        const failure = failures.find(reason => reason !== undefined);
        // the next attempt leaves out what was sent
        if (failure !== undefined) throw new Error(`an e-mail with a code was not sent: ${failure}`);
      },
      async () => undefined,
    );
  }

  onModuleDestroy(): void {
    this.transport.close();
  }

  /** Makes a code and sends it. Returns the reason for which that is to be tried again. */
  private async deliver(item: WorkItem): Promise<string | undefined> {
    const made = await this.codes.make(item);
    if (made === undefined) return undefined;
    const caller = systemCaller(item.merchantId, item.requestId, Number.POSITIVE_INFINITY);
    const [member] = await recipientsOf(this.db, caller, made.purpose, made.email);
    const outcome = member === undefined ? undefined : await this.transport.send(this.envelopeOf(made, member.email));
    if (member !== undefined && outcome?.sent === false) {
      const reason = outcome.response.replaceAll(member.email, '…');
      if (!outcome.final) return reason;
      this.log.warn({ emailHash: made.emailHash, reason }, 'an e-mail with a code was refused');
    }
    await this.codes.settle(made);
    return undefined;
  }

  /** The e-mail goes to the member's own address, never to what a request wrote. */
  private envelopeOf({ purpose, code }: MadeCode, to: string): Envelope {
    const { title, content } = codeMail(purpose, code);
    const host = this.from.address.slice(this.from.address.lastIndexOf('@') + 1);
    return {
      messageId: `<code-${randomUUID()}@${host}>`,
      from: this.from,
      replyTo: '',
      to,
      subject: title,
      text: content,
      html: htmlOf(title, content),
      date: new Date(this.clock.wall()),
      attachments: [],
    };
  }
}
