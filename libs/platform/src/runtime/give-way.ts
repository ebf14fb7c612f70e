/** Resolves in the next turn of the event loop: what is waiting for input, output or a timer has its turn first. */
export const giveWay = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
