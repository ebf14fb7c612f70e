import { Init1763683200001 } from './0001-init.js';
import { Payments1763683200002 } from './0002-payments.js';
import { Purchases1763683200003 } from './0003-purchases.js';
import { Lists1763683200004 } from './0004-lists.js';
import { Relay1763683200005 } from './0005-relay.js';
import { Work1763683200006 } from './0006-work.js';
import { Credits1763683200010 } from './0010-credits.js';
import { Discounts1763683200011 } from './0011-discounts.js';
import { Tax1763683200012 } from './0012-tax.js';
import { Gateways1763683200013 } from './0013-gateways.js';
import { Money1763683200014 } from './0014-money.js';
import { Collection1763683200015 } from './0015-collection.js';
import { Documents1763683200016 } from './0016-documents.js';
import { Subscriptions1763683200017 } from './0017-subscriptions.js';
import { Usage1763683200018 } from './0018-usage.js';
import { TestClocks1763683200020 } from './0020-test-clocks.js';
import { InvoiceSettings1763683200021 } from './0021-invoice-settings.js';
import { Cycle1763683200022 } from './0022-cycle.js';
import { DeadLetters1763683200025 } from './0025-dead-letters.js';
import { SendStatus1763683200026 } from './0026-send-status.js';
import { TransfersSent1763683200030 } from './0030-transfers-sent.js';
import { Paying1763683200035 } from './0035-paying.js';
import { Arrears1763683200040 } from './0040-arrears.js';
import { Logos1763683200045 } from './0045-logos.js';
import { TriedMethods1763683200046 } from './0046-tried-methods.js';
import { UnderWay1763683200050 } from './0050-under-way.js';
import { Methods1763683200051 } from './0051-methods.js';
import { Printed1763683200052 } from './0052-printed.js';
import { DocumentKeys1763683200053 } from './0053-document-keys.js';
import { Looks1763683200054 } from './0054-looks.js';
import { PriceChanges1763683200055 } from './0055-price-changes.js';
import { PaidSubscriptions1763683200060 } from './0060-paid-subscriptions.js';
import { Histories1763683200061 } from './0061-histories.js';
import { GeneratedCodes1763683200062 } from './0062-generated-codes.js';
import { Exports1763683200065 } from './0065-exports.js';
import { Imports1763683200066 } from './0066-imports.js';
import { EndNotices1763683200067 } from './0067-end-notices.js';

/** All migrations of billing, in order. A new one is appended; those that stand are never changed. */
export const migrations = [
  Init1763683200001,
  Payments1763683200002,
  Purchases1763683200003,
  Lists1763683200004,
  Relay1763683200005,
  Work1763683200006,
  Credits1763683200010,
  Discounts1763683200011,
  Tax1763683200012,
  Gateways1763683200013,
  Money1763683200014,
  Collection1763683200015,
  Documents1763683200016,
  Subscriptions1763683200017,
  Usage1763683200018,
  TestClocks1763683200020,
  InvoiceSettings1763683200021,
  Cycle1763683200022,
  DeadLetters1763683200025,
  SendStatus1763683200026,
  TransfersSent1763683200030,
  Paying1763683200035,
  Arrears1763683200040,
  Logos1763683200045,
  TriedMethods1763683200046,
  UnderWay1763683200050,
  Methods1763683200051,
  Printed1763683200052,
  DocumentKeys1763683200053,
  Looks1763683200054,
  PriceChanges1763683200055,
  PaidSubscriptions1763683200060,
  Histories1763683200061,
  GeneratedCodes1763683200062,
  Exports1763683200065,
  Imports1763683200066,
  EndNotices1763683200067,
];
