import { Controller } from '@nestjs/common';
import { type In, sendInvoiceEmail } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { mailAbout } from '../mail/from-invoice.js';
import { assertNotFlooded, MailOutbox } from '../mail/outbox.js';
import { DocumentReader } from './reader.js';

@Controller()
export class InvoiceMails {
  constructor(
    private readonly db: Db,
    private readonly reader: DocumentReader,
    private readonly outbox: MailOutbox,
  ) {}

  @Handle(sendInvoiceEmail)
  send({ invoiceId }: In<typeof sendInvoiceEmail>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { invoice, kind, seller, buyer } = await this.reader.invoiceOf(tx, invoiceId);
      // the address of now, not the one of the document
      const user = invoice.userAccount ?? buyer;
      if (user === null) throw new Rejected('user_not_found');
      await assertNotFlooded(tx, user.email);
      await this.outbox.queue(tx, mailAbout(kind, invoice, seller, user));
      tx.log(`Invoice(${invoiceId})`, 'SendEmail', { invoiceId, userId: invoice.userId });
      return {};
    });
  }
}
