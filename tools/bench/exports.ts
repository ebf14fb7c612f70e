import { createClient, orThrow } from '@recur/client';
import { memoryOf } from './machine.js';
import type { Bench, Measure } from './measure.js';

const limits = { seconds: 600, lookMs: 500 } as const;

/** Seconds from InvoiceExport of all invoices as xlsx to its file, and what billing's memory grew by meanwhile. */
export async function exportTime({ stack, tell }: Bench): Promise<Measure & { more: string }> {
  const { baseUrl, apiKey, pids } = stack.facts();
  const api = createClient({ baseUrl, credential: apiKey });
  const memory = () => memoryOf([pids.billing ?? 0]);
  const before = memory();
  const looks: { rows: number; memory: number }[] = [];
  const begun = performance.now();
  const { task } = orThrow(await api.post('/merchant/task/new_export', { task: 'InvoiceExport' }));
  for (;;) {
    await new Promise(resolve => setTimeout(resolve, limits.lookMs));
    const { downloads } = orThrow(await api.get('/merchant/task/list', { count: 1 }));
    const [shown] = downloads;
    if (shown?.id !== task.id || shown.status === 3) throw new Error(`the export failed: ${JSON.stringify(shown)}`);
    looks.push({ rows: shown.successCount, memory: memory() });
    if (shown.status !== 2) continue;
    const value = (performance.now() - begun) / 1_000;
    const file = await fetch(shown.downloadUrl, { method: 'HEAD' });
    const megabytes = Number(file.headers.get('content-length')) / 1e6;
    const rows = shown.successCount;
    const most = (until: number) =>
      shownAs(Math.max(...looks.filter(look => look.rows <= until).map(look => look.memory)));
    const more = `${rows} rows, ${megabytes.toFixed(0)} MB; billing ${shownAs(before)}, at most ${most(rows / 10)} in the first tenth, ${most(rows)} in all`;
    tell(`  · ${more}`);
    return { value, unit: 's', limit: limits.seconds, ratio: limits.seconds / value, more };
  }
}

const shownAs = (mib: number) => `${Math.round(mib)} MiB`;
