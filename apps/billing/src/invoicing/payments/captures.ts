import { Controller } from '@nestjs/common';
import { capturePayment, type In } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { requestCapture } from '../domain/charge.js';
import { InvoiceOwners } from '../owners.js';
import { payments } from '../tables.js';
import { chargeWork } from './collect.js';
import { lockCharge } from './lock.js';

@Controller()
export class Captures {
  constructor(
    private readonly db: Db,
    private readonly owners: InvoiceOwners,
  ) {}

  @Handle(capturePayment)
  capture({ paymentId, externalCaptureId }: In<typeof capturePayment>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const locked = await lockCharge(tx, this.owners, paymentId);
      if (!locked) throw new Rejected('payment_not_found');
      const { payment } = locked;
      const requested = requestCapture(payment, externalCaptureId, tx.now);
      if (requested === payment) return {};
      tx.save(payments, requested);
      tx.schedule(chargeWork.capture, paymentId, tx.now);
      const { invoiceId, userId } = payment;
      tx.log(`Payment(${paymentId})`, 'Capture', { invoiceId, userId });
      return {};
    });
  }
}
