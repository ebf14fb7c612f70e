const mostShown = 10;

/** Number of ids to load for `idList`: one more than it shows. */
export const neededIds = mostShown + 1;

/** Ids in a message: the first ten, and whether there are more. */
export const idList = (ids: readonly number[]) =>
  ids.length > mostShown ? `${ids.slice(0, mostShown).join(', ')} and more` : ids.join(', ');
