const shown = 10;

/** How many ids there is need to know for `idList`: one more than it shows. */
export const neededIds = shown + 1;

/** Ids as a message names them: the first ten, and that there are more. */
export const idList = (ids: readonly number[]) =>
  ids.length > shown ? `${ids.slice(0, shown).join(', ')} and more` : ids.join(', ');
