type Words = Readonly<Record<string, string>>;

/** Keys whose text is missing or unknown in one of two languages, or has other `{placeholders}`. */
export function wordGaps(english: Words, other: Words): string[] {
  const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort();
  return [...new Set([...Object.keys(english), ...Object.keys(other)])].filter(key => {
    const [one, two] = [english[key], other[key]];
    return !one?.trim() || !two?.trim() || placeholders(one).join() !== placeholders(two).join();
  });
}
