import { Controller } from '@nestjs/common';
import { type In, invoiceStatus, listInvoices, portalInvoiceDetail, portalInvoiceList } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { InvoiceList } from '../invoicing/lists/invoice-list.js';
import { userOf } from './caller.js';
import { Handlers } from './handlers.js';
import { ShownInvoices } from './shown-invoice.js';

const { processing, paid, failed, cancelled, reversed } = invoiceStatus;
/** All but drafts. */
const finished = [processing, paid, failed, cancelled, reversed];

/** Invoices of the calling user. */
@Controller()
export class OwnInvoices {
  constructor(
    private readonly db: Db,
    private readonly handlers: Handlers,
    private readonly invoices: ShownInvoices,
  ) {}

  @Handle(portalInvoiceList)
  async list(input: In<typeof portalInvoiceList>, caller: Caller) {
    const asked = listInvoices.input.parse({ ...input, userId: userOf(caller), status: finished });
    return portalInvoiceList.output.parse(await this.handlers.of(InvoiceList).list(asked, caller));
  }

  @Handle(portalInvoiceDetail)
  detail({ invoiceId }: In<typeof portalInvoiceDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const invoice = await this.invoices.ownState(reader, invoiceId, userOf(caller));
      return portalInvoiceDetail.output.parse(await this.invoices.shown(reader, invoice));
    });
  }
}
