const sortedCharacters = 100;

/** A name's sort key: its first 100 characters in lower case, since an index entry is limited in size. */
export const sortNameOf = (name: string) => Array.from(name.toLowerCase()).slice(0, sortedCharacters).join('');

/** Condition of the partial indexes that serve lists: deleted rows are not listed. */
export const notDeleted = 'deleted_time = 0';
