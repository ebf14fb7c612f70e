import { PNG } from 'pngjs';

const limits = { bytes: 512 * 1024, pixels: 4_000_000 } as const;
const signatures = {
  png: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  jpeg: Buffer.from([0xff, 0xd8, 0xff]),
} as const;
const begins = (image: Buffer, signature: Buffer) => image.subarray(0, signature.length).equals(signature);

/** Most bytes of a logo. */
export const logoBytes = limits.bytes;

/** True for what begins as a PNG or a JPEG, and is not too large. */
export const isPicture = (image: Buffer): boolean =>
  image.length <= limits.bytes && Object.values(signatures).some(signature => begins(image, signature));

/**
 * A logo that pdfkit can embed at once: a JPEG as it is, a PNG decoded and put on white. (pdfkit decodes transparent
 * PNGs beside the document's other streams, and throws where nobody can catch it.) Undefined for what is no image of these
 * kinds, is damaged, or is too large: the document is made without it.
 */
export function decodedLogo(bytes: Uint8Array): Buffer | undefined {
  const image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isPicture(image)) return undefined;
  if (begins(image, signatures.jpeg)) return image;
  if (image.length < 33) return undefined;
  // pngjs may answer a cut image without an error
  if (!image.includes('IEND')) return undefined;
  if (image.readUInt32BE(16) * image.readUInt32BE(20) > limits.pixels) return undefined;
  try {
    return onWhite(PNG.sync.read(image));
  } catch {
    return undefined;
  }
}

/** The image without its transparency, as a PNG of plain RGB. */
function onWhite({ width, height, data }: PNG): Buffer {
  const flat = new PNG({ width, height });
  for (let at = 0; at < data.length; at += 4) {
    const alpha = (data[at + 3] ?? 0) / 255;
    for (let channel = at; channel < at + 3; channel++) {
      flat.data[channel] = Math.round((data[channel] ?? 0) * alpha + 255 * (1 - alpha));
    }
    flat.data[at + 3] = 255;
  }
  return PNG.sync.write(flat, { colorType: 2 });
}
