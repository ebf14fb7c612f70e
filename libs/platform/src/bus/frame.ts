/** One of several texts that travel in one message, and what goes with it. */
export interface Part<H = unknown, B extends Uint8Array | string = Uint8Array | string> {
  head: H;
  bytes: B;
}

/** Of one message: replicas share messages, so it holds few commands. Bytes are those of its texts, at most. */
const limits = { parts: 16, bytes: 262_144 } as const;

/** Parts, in order, in as few messages as carry them; one that is longer than the others may be has its own. */
export function* messagesOf<P extends Part>(parts: readonly P[]): Generator<P[]> {
  let message: P[] = [];
  let bytes = 0;
  for (const part of parts) {
    const most = part.bytes.length * 3;
    if (message.length === limits.parts || (message.length > 0 && bytes + most > limits.bytes)) {
      yield message;
      message = [];
      bytes = 0;
    }
    message.push(part);
    bytes += most;
  }
  yield message;
}

/**
 * Several parts as one message, because a message costs the bus and both its ends more than a part in it: a line of JSON
 * with the length and the head of each, then their bytes, one after the other.
 */
export function framed(parts: readonly Part[]): Buffer {
  const lengths = parts.map(({ bytes }) => Buffer.byteLength(bytes));
  const line = `${JSON.stringify(parts.map(({ head }, at) => [lengths[at], head]))}\n`;
  const all = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, Buffer.byteLength(line)));
  let end = all.write(line);
  for (const [at, { bytes }] of parts.entries()) {
    if (typeof bytes === 'string') all.write(bytes, end);
    else all.set(bytes, end);
    end += lengths[at] ?? 0;
  }
  return all;
}

/** The parts of a message, their bytes as they lie in it. Throws where it is none: whoever reaches the bus can publish. */
export function unframed<H>({ buffer, byteOffset, byteLength }: Uint8Array): Part<H, Uint8Array>[] {
  const all = Buffer.from(buffer, byteOffset, byteLength);
  let end = all.indexOf('\n') + 1;
  const heads = JSON.parse(all.toString('utf8', 0, end)) as [number, H][];
  return heads.map(([length, head]) => {
    const bytes = all.subarray(end, end + length);
    if (bytes.length !== length) throw new Error('a message is shorter than it says');
    end += length;
    return { head, bytes };
  });
}
