import { type Family, type Run, runsOf, type Weight } from './fonts.js';
import { getEmbeddingLevels, getMirroredCharacter, MIRRORED } from './shaping.js';

/** Scripts that are written from right to left; a font lays out a run of them in that direction by itself. */
const rightToLeft = /[\p{Script=Hebrew}\p{Script=Arabic}]/u;

/** The runs of a line in the order of reading, and where each comes from left to right. */
export interface Directed {
  runs: Run[];
  /** Indices of `runs`, from the left. */
  order: number[];
}

/**
 * The runs of a line by the Unicode bidirectional algorithm. Its first letter says which way the line is read; punctuation
 * is mirrored in text that is read from right to left.
 */
export function directed(line: string, preference: readonly Family[], weight: Weight): Directed {
  if (!rightToLeft.test(line)) {
    const runs = runsOf(line, preference, weight);
    return { runs, order: [...runs.keys()] };
  }
  const text = line.normalize('NFC');
  const { levels } = getEmbeddingLevels(text, 'auto');
  const runs: Run[] = [];
  const levelOf: number[] = [];
  for (let at = 0; at < text.length; ) {
    const level = levels[at] ?? 0;
    let end = at + 1;
    while (end < text.length && levels[end] === level) end++;
    for (const run of runsOf(text.slice(at, end), preference, weight)) {
      const parts = level % 2 === 1 ? leftwards(run) : [rightwards(run)];
      runs.push(...parts);
      levelOf.push(...parts.map(() => level));
    }
    at = end;
  }
  return { runs, order: visualOrder(levelOf) };
}

/** A run that is read from right to left: as it is in its own script, else one by one, mirrored. */
function leftwards({ family, text }: Run): Run[] {
  if (rightToLeft.test(text)) return [{ family, text }];
  return [...text].map(sign => ({ family, text: getMirroredCharacter(sign) === null ? sign : MIRRORED + sign }));
}

/** A run that is read from left to right. Digits that belong to a script of the other direction come reversed to its font. */
const rightwards = ({ family, text }: Run): Run =>
  rightToLeft.test(text) ? { family, text: [...text].reverse().join('') } : { family, text };

/** Rule L2: from the highest level to the lowest odd one, runs that are at least at it are reversed. */
function visualOrder(levels: readonly number[]): number[] {
  let order = [...levels.keys()];
  for (let level = Math.max(...levels); level > 0; level--) {
    const turned: number[] = [];
    for (let at = 0; at < order.length; ) {
      let end = at;
      while (end < order.length && (levels[order[end] ?? 0] ?? 0) >= level) end++;
      if (end > at) turned.push(...order.slice(at, end).reverse());
      else turned.push(order[end++] ?? 0);
      at = end;
    }
    order = turned;
  }
  return order;
}
