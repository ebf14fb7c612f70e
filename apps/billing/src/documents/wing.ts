import type { Wing } from '@recur/platform';
import { CustomerNotifications } from '../invoices/notifications.js';
import { DocumentFiles, DocumentReader } from './documents.js';
import { Logos } from './logos.js';
import { MailHistory } from './mail-history.js';
import { MailOutbox } from './mail-outbox.js';
import { InvoiceMails, MailSender, NoticeMails } from './mail-sender.js';
import { DocumentRenderer } from './renderer.js';
import { mails, sellerLogos } from './tables.js';

/** PDFs and e-mails of documents. */
export const documentsWing: Wing = {
  tables: [mails, sellerLogos],
  controllers: [DocumentFiles, InvoiceMails, MailHistory],
  providers: [
    DocumentReader,
    Logos,
    DocumentRenderer,
    MailOutbox,
    MailSender,
    { provide: CustomerNotifications, useClass: NoticeMails },
  ],
  work: app => [app.get(MailSender).work],
};
