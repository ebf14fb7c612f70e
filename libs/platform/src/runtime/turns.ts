/**
 * Batches calls: however often the returned function is called within one turn of the event loop, `run` is called once.
 * With `defer` = process.nextTick it runs before the loop goes on to the next I/O callback.
 */
export function oncePerTurn(run: () => void, defer: (callback: () => void) => unknown = setImmediate): () => void {
  let due = false;
  return () => {
    if (due) return;
    due = true;
    defer(() => {
      due = false;
      run();
    });
  };
}

/** Resolves in the next turn of the event loop: what is waiting for input, output or a timer has its turn first. */
export const giveWay = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
