import type { Api } from '../journeys/api.js';

interface Clock {
  now: number;
  status: string;
  target: number;
}

/** Time on the merchant's clock. */
export const timeOf = async (api: Api): Promise<number> => (await api.get<Clock>('/merchant/test_clock')).now;

const pause = { betweenMs: 250 } as const;

/** Moves the merchant's clock to a time, and waits until everything on the way is done. */
export async function advanceTo(api: Api, to: number): Promise<void> {
  if (to <= (await timeOf(api))) return;
  let clock = await api.post<Clock>('/merchant/test_clock/advance', { to });
  while (clock.status === 'advancing') {
    await new Promise(resolve => setTimeout(resolve, pause.betweenMs));
    clock = await api.get<Clock>('/merchant/test_clock');
  }
}
