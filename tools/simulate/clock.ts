import { type Client, orThrow } from '@recur/client';

/** Time on the merchant's clock. */
export const timeOf = async (api: Client): Promise<number> => orThrow(await api.get('/merchant/test_clock', {})).now;

const pause = { betweenMs: 250 } as const;

/** Moves the merchant's clock to a time, and waits until everything on the way is done. */
export async function advanceTo(api: Client, to: number): Promise<void> {
  if (to <= (await timeOf(api))) return;
  let clock = orThrow(await api.post('/merchant/test_clock/advance', { to }));
  while (clock.status === 'advancing') {
    await new Promise(resolve => setTimeout(resolve, pause.betweenMs));
    clock = orThrow(await api.get('/merchant/test_clock', {}));
  }
}
