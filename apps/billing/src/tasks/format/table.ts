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
