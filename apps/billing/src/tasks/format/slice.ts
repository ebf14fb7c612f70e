import type { ColumnKind } from '@recur/contracts';

/** A row of a file that is not blank, numbered as spreadsheets do: the header is row 1. */
export interface FileRow {
  row: number;
  cells: string[];
}

/** A table in a file: its header, and the rows below. */
export interface FileTable {
  format: 'csv' | 'xlsx';
  header: string[];
  rows: FileRow[];
}

/** Why a file cannot be read. */
export class UnreadableFile extends Error {}

/** Offsets change at quarters of hours. */
const bucketSeconds = 900;
const limits = { kept: 100_000, seconds: 8_640_000_000_000 } as const;

/** Writes unix seconds as `YYYY-MM-DD HH:MM:SS` in an IANA zone, '' for 0; offsets are looked up once per quarter of an hour. */
export function timesIn(zone: string): (seconds: number) => string {
  const offsets = new Map<number, number>();
  const offsetAt = offsetsOf(zone);
  return seconds => {
    if (seconds === 0) return '';
    const bucket = Math.floor(seconds / bucketSeconds);
    let offset = offsets.get(bucket);
    if (offset === undefined) {
      if (offsets.size >= limits.kept) offsets.clear();
      offset = offsetAt(bucket * bucketSeconds);
      offsets.set(bucket, offset);
    }
    const local = seconds + offset;
    if (Math.abs(local) >= limits.seconds) return String(seconds);
    return new Date(local * 1_000).toISOString().slice(0, -5).replace('T', ' ');
  };
}

/** The offset of a zone from UTC at a time, in seconds. */
function offsetsOf(zone: string): (seconds: number) => number {
  if (zone === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return seconds => {
    if (Math.abs(seconds) >= limits.seconds) return 0;
    const parts = new Map(format.formatToParts(seconds * 1_000).map(({ type, value }) => [type, value]));
    const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
    const year = parts.get('era') === 'BC' ? 1 - part('year') : part('year');
    const local = new Date(0);
    local.setUTCFullYear(year, part('month') - 1, part('day'));
    local.setUTCHours(part('hour'), part('minute'), part('second'));
    return local.getTime() / 1_000 - seconds;
  };
}

export type Cell = string | number;

export interface FileColumn {
  name: string;
  kind: ColumnKind;
}

/** A file so far. */
export interface FileState {
  /** Rows below its header. */
  rows: number;
  bytes: number;
  /** Checksum and size of what is compressed in it. */
  crc: number;
  rawBytes: number;
}

/** Rows to be added to a file. */
export interface Slice {
  format: 'csv' | 'xlsx';
  columns: readonly FileColumn[];
  rows: readonly (readonly Cell[])[];
  /** IANA zone in which times are written. */
  zone: string;
  state: FileState;
  /** The file ends with these rows. */
  last: boolean;
}

/** Bytes that follow in the file, and the file with them. */
export interface Written extends FileState {
  content: Uint8Array;
}
