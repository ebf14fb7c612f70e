import { once } from 'node:events';
import { WebSocket } from 'undici';

/** The setting of an app that lets `heldBy` look into it; until then it costs the app nothing. */
export const inspectable = (port: number) => ({ NODE_OPTIONS: `--inspect-port=127.0.0.1:${port}` });

/** MiB that an app holds, when all that it has no use for any more is collected. */
export async function heldBy(pid: number, port: number): Promise<number> {
  process.kill(pid, 'SIGUSR1');
  const found = await targets(port);
  const socket = new WebSocket(found[0]?.webSocketDebuggerUrl ?? '');
  await once(socket, 'open');
  const ask = async (id: number, method: string, params: object = {}) => {
    socket.send(JSON.stringify({ id, method, params }));
    for (;;) {
      const [{ data }] = (await once(socket, 'message')) as [{ data: string }];
      const answer = JSON.parse(data) as { id: number; result: { result?: { value: string } } };
      if (answer.id === id) return answer.result.result?.value ?? '';
    }
  };
  await ask(1, 'HeapProfiler.collectGarbage');
  const usage = await ask(2, 'Runtime.evaluate', { expression: 'JSON.stringify(process.memoryUsage())' });
  socket.close();
  const { heapUsed, external } = JSON.parse(usage) as NodeJS.MemoryUsage;
  return (heapUsed + external) / 2 ** 20;
}

/** The targets of an inspector, which may be starting. */
async function targets(port: number): Promise<{ webSocketDebuggerUrl: string }[]> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    try {
      return (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { webSocketDebuggerUrl: string }[];
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }
}
