import type { Invoice } from '@recur/contracts';
import type { Card } from '../../model/collection.js';
import type { Life } from '../../model/life.js';
import type { RequestedEffect, Wish } from '../../model/terms.js';
import type { Seller } from '../examples/seller.js';
import type { Sold } from './sold.js';

/** A subscription that is lived twice, as its steps see it. */
export interface Living {
  readonly seller: Seller;
  readonly sold: Sold;
  readonly life: Life;
  /** The steps so far, with their times. */
  readonly trace: string[];
  /** Invoices and credit notes, without drafts, each list from its newest on. */
  documents(): Promise<Invoice[]>;
  /** Money came that the preview did not know of. */
  forgetPreview(): void;
}

/** A step of a life. */
export type Step =
  | { do: 'nothing' }
  | { do: 'change'; wish: Wish; effect: RequestedEffect }
  | { do: 'extend'; hours: number }
  | { do: 'dueDay'; day: number }
  | { do: 'use'; units: number }
  | { do: 'card'; card: Exclude<Card, 'wire'> }
  | { do: 'approve' }
  | { do: 'endLater' }
  | { do: 'keep' }
  | { do: 'cancel'; prorate: boolean; invoiceNow: boolean }
  | { do: 'refund'; which: number; part: number };
