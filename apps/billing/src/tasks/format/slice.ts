import type { ColumnKind } from '@recur/contracts';

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
