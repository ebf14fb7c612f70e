import { Controller } from '@nestjs/common';
import { explainInvoice, type In, invoiceStatus, listCreditNotes } from '@recur/contracts';
import { type Caller, type Condition, Db, given, Handle, sorted } from '@recur/platform';
import { usersByEmails } from '../../customers/users.js';
import { explain, explainNote } from '../../pricing/explain.js';
import { compositionOf } from '../domain/invoice.js';
import { invoicesOf, matching, namesOfCodes } from '../lists/details.js';
import type { InvoiceState } from '../state.js';
import { invoices } from '../tables.js';
import { explanationView, invoiceAggregate } from '../views.js';

@Controller()
export class CreditNotes {
  constructor(private readonly db: Db) {}

  @Handle(listCreditNotes)
  list(input: In<typeof listCreditNotes>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { page, count, emails } = input;
      const userIds = emails ? await usersByEmails(reader, emails.split(',')) : undefined;
      const where: Condition[] = [
        ['kind = ?', 'credit_note'],
        ['user_id = any(?)', userIds],
        ['status = any(?)', namesOfCodes(invoiceStatus, given(input.status))],
        ['currency = ?', given(input.currency)],
        ['gateway_id = any(?)', given(input.gatewayIds)],
        ['create_time >= ?', given(input.createTimeStart)],
        ['create_time <= ?', given(input.createTimeEnd)],
        [
          `exists (select 1 from invoice_lines l where l.merchant_id = invoices.merchant_id
             and l.invoice_id = invoices.original_invoice_id and l.plan_id = any(?))`,
          given(input.planIds),
        ],
        matching(given(input.searchKey)),
      ];
      const order = sorted({ createTime: 'create_time', totalAmount: 'total_amount' }, input);
      const { rows, total } = await reader.page({ from: invoices, where, order, page, count });
      return { creditNotes: await invoicesOf(reader, rows), total };
    });
  }

  @Handle(explainInvoice)
  explain({ invoiceId }: In<typeof explainInvoice>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const invoice = await reader.get(invoiceAggregate, invoiceId, 'invoice_not_found');
      return explanationView(explanationOfNote(invoice));
    });
  }
}

/** How the amounts of an invoice or credit note were computed. */
export function explanationOfNote(invoice: InvoiceState) {
  const composition = compositionOf(invoice);
  const { noteReason, lines } = invoice;
  if (noteReason === 'refund' || noteReason === 'bank_charges') {
    const { totalAmountExcludingTax, taxAmount, totalAmount } = invoice;
    const factOf = (lineId: string) => {
      const line = lines.find(({ sourceLineId }) => sourceLineId === lineId);
      return { name: line?.name ?? '', taxReason: line?.taxReason ?? '' };
    };
    const { taxes } = composition;
    const amounts = { totalAmountExcludingTax, taxAmount, totalAmount };
    const note = { originalInvoiceId: invoice.originalInvoiceId, lines, taxes, ...amounts };
    return explainNote(note, invoice.invoiceId, factOf);
  }
  return explain(
    composition,
    lines.map(({ lineId, name, unitAmountExcludingTax, quantity, sourceLineId, formula, inputs }) => ({
      lineId,
      name,
      unitAmountExcludingTax,
      quantity,
      sourceLineId,
      ...(formula !== '' && { derivation: { formula, inputs: inputs ?? {} } }),
    })),
  );
}
