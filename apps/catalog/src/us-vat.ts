import type { UsVatConfig } from '@recur/contracts';

type UsVatInput = Partial<UsVatConfig> & Omit<UsVatConfig, 'fromAddress' | 'toAddress'>;

/** Tax configuration as it is stored and answered: missing addresses become null. */
export function usVatConfigOf(input: UsVatInput | undefined): UsVatConfig | null {
  return input ? { ...input, fromAddress: input.fromAddress ?? null, toAddress: input.toAddress ?? null } : null;
}
