import { Controller } from '@nestjs/common';
import {
  archiveCheckout,
  checkoutDetail,
  editCheckout,
  type In,
  listCheckouts,
  newCheckout,
  publishCheckout,
  setDefaultCheckout,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { checkoutAggregate } from './aggregate.js';
import { archive, type Checkout, checkLive, edit, publish } from './domain/checkout.js';
import { checkouts } from './tables.js';
import { checkoutView } from './views.js';

@Controller()
export class Checkouts {
  constructor(private readonly db: Db) {}

  @Handle(newCheckout)
  create(input: In<typeof newCheckout>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const checkout: Checkout = {
        ...input,
        merchantId: tx.merchantId,
        id: await tx.nextId(checkouts),
        version: 0,
        status: 'live',
        isDefault: false,
        createTime: tx.now,
        modifyTime: tx.now,
      };
      tx.onConflict('checkouts_limit', () => new Rejected('too_many_checkouts'));
      return { merchantCheckout: tx.step(checkoutAggregate, checkout, 'checkout.created', { log: 'New' }).view };
    });
  }

  @Handle(editCheckout)
  edit({ checkoutId, ...sent }: In<typeof editCheckout>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const checkout = await tx.lock(checkoutAggregate, checkoutId, 'checkout_not_found');
      const edited = edit(checkout, sent, tx.now);
      if (!edited) return { merchantCheckout: checkoutView(checkout) };
      return { merchantCheckout: tx.step(checkoutAggregate, edited, 'checkout.updated', { log: 'Edit' }).view };
    });
  }

  @Handle(publishCheckout)
  publish({ checkoutId }: In<typeof publishCheckout>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const checkout = await tx.lock(checkoutAggregate, checkoutId, 'checkout_not_found');
      const published = publish(checkout, tx.now);
      if (!published) return { merchantCheckout: checkoutView(checkout) };
      return { merchantCheckout: tx.step(checkoutAggregate, published, 'checkout.published', { log: 'Publish' }).view };
    });
  }

  @Handle(archiveCheckout)
  archive({ checkoutId }: In<typeof archiveCheckout>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const checkout = await tx.lock(checkoutAggregate, checkoutId, 'checkout_not_found');
      const archived = archive(checkout, tx.now);
      if (archived) tx.step(checkoutAggregate, archived, 'checkout.archived', { log: 'Archive' });
      return {};
    });
  }

  @Handle(setDefaultCheckout)
  setDefault({ checkoutId }: In<typeof setDefaultCheckout>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const live = await tx.all(checkouts, { status: 'live' });
      // locks every live template in id order: another one may become the default before the locks are held
      const ids = [...new Set([...live.map(({ id }) => id), checkoutId])].sort((a, b) => a - b);
      const all = (await Promise.all(ids.map(id => tx.lockIfAny(checkoutAggregate, id)))).flatMap(row => row ?? []);
      const chosen = all.find(({ id }) => id === checkoutId);
      if (!chosen) throw new Rejected('checkout_not_found');
      checkLive(chosen, 'choose');
      if (chosen.isDefault) return { merchantCheckout: checkoutView(chosen) };
      for (const before of all.filter(({ isDefault }) => isDefault)) {
        const cleared = { ...before, isDefault: false, modifyTime: tx.now };
        // cleared first: the unique index allows one default at any time, within a statement too
        await tx.saveNow(checkouts, cleared);
        tx.step(checkoutAggregate, cleared, 'checkout.updated');
      }
      tx.onConflict('checkouts_one_default', 'again');
      const changed = { ...chosen, isDefault: true, modifyTime: tx.now };
      return { merchantCheckout: tx.step(checkoutAggregate, changed, 'checkout.updated', { log: 'SetDefault' }).view };
    });
  }

  @Handle(checkoutDetail)
  detail({ checkoutId }: In<typeof checkoutDetail>, caller: Caller) {
    return this.db.read(caller, async reader => ({
      merchantCheckout: checkoutView(await getTemplate(reader, checkoutId)),
    }));
  }

  @Handle(listCheckouts)
  list({ SearchKey = '' }: In<typeof listCheckouts>, caller: Caller) {
    const key = SearchKey.trim();
    return this.db.read(caller, async reader => ({
      merchantCheckouts: (await liveTemplates(reader)).filter(fits(key)).map(checkoutView),
    }));
  }
}

/** Matches templates in memory: a merchant has at most 50. */
const fits = (key: string) => {
  const part = key.toLowerCase();
  return ({ id, name, description }: Checkout) =>
    String(id) === key || [name, description].some(text => text.toLowerCase().includes(part));
};

/**
 * Checks a plan's template when it changes (`before` is the current one, 0 is none). Throws Rejected
 * `checkout_not_found` or `checkout_archived`.
 */
export async function checkTemplate(reader: Reader, id: number, before = 0): Promise<void> {
  if (id === 0 || id === before) return;
  const template = await reader.find(checkouts, { id });
  const path = '/checkoutTemplateId';
  if (!template) throw new Rejected('checkout_not_found', undefined, [{ path, message: 'names no checkout template' }]);
  checkLive(template, 'use');
}

/** A template, else Rejected `checkout_not_found`. */
export const getTemplate = (reader: Reader, id: number): Promise<Checkout> =>
  reader.get(checkouts, { id }, 'checkout_not_found');

/** The templates that are not archived, the newest first; there are at most 50. */
export const liveTemplates = (reader: Reader): Promise<Checkout[]> =>
  reader.all(checkouts, { status: 'live' }, 'order by create_time desc, id desc');

/** True when a template exists and is not archived. */
export async function liveTemplate(reader: Reader, id: number): Promise<boolean> {
  return (await reader.find(checkouts, { id, status: 'live' })) !== undefined;
}
