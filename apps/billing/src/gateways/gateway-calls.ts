import { type Db, fetchedWork, systemCaller, type Tx, type Work, type WorkItem } from '@recur/platform';

/** The three steps of work that calls gateways. `C` is what a call needs, `R` what the gateway answered. */
interface Steps<C, R> {
  /**
   * Claims the calls of all items: the claims that it returns, by key, are committed before anything is sent. An item without
   * one is not called.
   */
  claim(tx: Tx, items: readonly WorkItem[]): Promise<ReadonlyMap<string, C>>;
  /** Calls the gateway, outside of any transaction. What another worker may have sent before is asked for first. */
  call(claim: C): Promise<R | undefined>;
  /** Records the answers, in the transaction that takes the items off the schedule. */
  record(tx: Tx, items: readonly WorkItem[], answers: readonly (R | undefined)[]): Promise<void>;
}

/**
 * Work that calls gateways: claim, call, record. A worker that is killed in between leaves a claim, by which the next one
 * knows that the call may have been made.
 */
export function gatewayCalls<C, R>(
  db: Db,
  kind: string,
  terms: { batch: number; leaseSeconds: number },
  { claim, call, record }: Steps<C, R>,
): Work {
  const claimed = async (items: readonly WorkItem[]): Promise<ReadonlyMap<string, C>> => {
    const [first] = items;
    let claims: ReadonlyMap<string, C> = new Map();
    if (!first) return claims;
    const caller = systemCaller(first.merchantId, first.requestId, Number.POSITIVE_INFINITY);
    await db.apply(caller, async tx => {
      claims = await claim(tx, items);
    });
    return claims;
  };
  return fetchedWork(
    kind,
    { time: 'merchant', ...terms },
    async items => {
      const claims = await claimed(items);
      return Promise.all(
        items.map(({ key }) => {
          const own = claims.get(key);
          return own && call(own);
        }),
      );
    },
    record,
  );
}

/** Records the answers of items one by one, each under the request id of its item. */
export const recordEach =
  <R>(record: (tx: Tx, answer: R) => Promise<unknown>) =>
  async (tx: Tx, items: readonly WorkItem[], answers: readonly (R | undefined)[]): Promise<void> => {
    for (const [at, item] of items.entries()) {
      const answer = answers[at];
      if (answer) await record(tx.item(item), answer);
    }
  };
