import { readFileSync } from 'node:fs';

/** Recorded requests and whole answers, by the name of the operation. */
export type Examples = Readonly<
  Record<string, { request: Record<string, unknown>; response: Record<string, unknown> }>
>;

/** The examples of `examples.json`, which were recorded from a running stack. */
export const recordedExamples = (): Examples =>
  JSON.parse(readFileSync(new URL('./examples.json', import.meta.url), 'utf8'));
