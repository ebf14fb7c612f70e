import type { MailWords } from './en.js';

export const zh: MailWords = {
  greeting: '{buyer}，您好：',
  regards: '此致\n{seller}',
  pay: '付款链接：{link}',
  view: 'PDF 文件：{document}',
  method: '付款方式：{method}',
  invoiceTitle: '来自 {seller} 的账单 {number}',
  invoiceText: '附件是账单 {number}，金额 {amount}，请于 {due} 前付款。',
  receiptTitle: '来自 {seller} 的账单 {number} 已付款',
  receiptText: '附件是账单 {number}，金额 {amount}，已无需付款。',
  creditNoteTitle: '来自 {seller} 的贷项通知单 {number}',
  creditNoteText: '附件是贷项通知单 {number}，金额 {amount}。',
  paymentFailedTitle: '账单 {number} 付款失败',
  paymentFailedText: '账单 {number} 的付款（{amount}）未成功。请检查您的付款方式，或于 {due} 前付款。',
  lastNoticeTitle: '最后通知：账单 {number} 尚未付款',
  lastNoticeText: '账单 {number}（{amount}）尚未付款，请于 {due} 前付款。',
  needsActionTitle: '请确认账单 {number} 的付款',
  needsActionText: '您的银行要求您确认账单 {number} 的付款（{amount}）。',
};
