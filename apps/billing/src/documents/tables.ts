import { int, integer, table, text } from '@recur/platform';
import type { MailKind } from './mail-content.js';

/** The picture at a URL that a merchant has had as its logo. */
export interface SellerLogo {
  merchantId: number;
  url: string;
  /** Base64; '' where there was no picture. */
  image: string;
  /** Unix seconds on the merchant's clock. */
  fetchTime: number;
}

export const sellerLogos = table<SellerLogo>('seller_logos', {
  columns: { merchantId: integer(), url: text(), image: text(), fetchTime: integer() },
  key: ['merchantId', 'url'],
  replaced: true,
});

/** An e-mail to a user: what is sent, and how it went. The history of e-mails lists these rows. */
export interface Mail {
  merchantId: number;
  id: number;
  kind: MailKind;
  invoiceId: string;
  userId: number;
  email: string;
  /** The recipient in lower case. */
  emailKey: string;
  /** The sender's name; its address is the deployment's. */
  senderName: string;
  replyTo: string;
  title: string;
  content: string;
  attachFile: string;
  /** emailStatus of contracts. */
  status: number;
  attempts: number;
  response: string;
  createTime: number;
  sentTime: number;
}

export const mails = table<Mail>('mails', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    kind: text(),
    invoiceId: text(),
    userId: integer(),
    email: text(),
    emailKey: text(),
    senderName: text(),
    replyTo: text(),
    title: text(),
    content: text(),
    attachFile: text(),
    status: int(),
    attempts: int(),
    response: text(),
    createTime: integer(),
    sentTime: integer(),
  },
  indices: {
    mails_newest: { on: ['merchantId', 'createTime', 'id', 'status'] },
    mails_email: { on: ['merchantId', 'emailKey', 'createTime', 'id'] },
    mails_status: { on: ['merchantId', 'status', 'createTime', 'id'] },
  },
});
