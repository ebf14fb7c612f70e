/** ZIP codes of a state's places, in order: `Akutan 99553;Nome 99762,99778-99780`. */
export type Places = ReadonlyMap<string, string>;

/** The place of one ZIP code. */
export interface Row {
  zip: string;
  city: string;
  state: string;
}

/** Territories, which GeoNames lists as countries of their own. */
const territories = ['AS', 'GU', 'MP', 'PR', 'VI'];

/**
 * The places of each state, from GeoNames' US.txt: rows of country, ZIP, city, state name, state, …, separated by tabs,
 * one row per ZIP code; those of the territories from another list. Military mail has no state there, but APO, FPO or DPO for
 * a city, with areas that are often wrong.
 */
export function placesOf(geonames: string, others: readonly Row[]): Places {
  const ofTerritories = others.filter(({ state }) => territories.includes(state));
  const rows = new Map(ofTerritories.map(({ zip, city, state }) => [zip, { zip, city, state }]));
  for (const line of geonames.split('\n').filter(line => line !== '')) {
    const [, zip = '', place = '', , code = ''] = line.split('\t');
    const military = /^(APO|FPO|DPO)\b/.exec(place)?.[1];
    // a ZIP code that has two rows is kept as a civilian one
    if (military && !rows.has(zip)) rows.set(zip, { zip, city: military, state: areaOf(zip) });
    else if (code !== '') rows.set(zip, { zip, city: place, state: code });
  }
  const states = grouped([...rows.values()], ({ state }) => state);
  return new Map(states.map(([state, of]) => [state, citiesOf(of)]));
}

/** Military areas have ZIP codes of their own: 09 Europe, 340 the Americas, 962 to 966 the Pacific. */
const areaOf = (zip: string) => (zip.startsWith('09') ? 'AE' : zip.startsWith('34') ? 'AA' : 'AP');

function citiesOf(rows: readonly Row[]): string {
  return grouped(rows, ({ city }) => city)
    .map(([city, of]) => `${city} ${rangesOf(of.map(({ zip }) => Number(zip))).join(',')}`)
    .join(';');
}

/** `10001-10003` and `10005` for 10001, 10002, 10003 and 10005. */
function rangesOf(zips: readonly number[]): string[] {
  const ranges: { first: number; last: number }[] = [];
  for (const zip of zips.toSorted((a, b) => a - b)) {
    const current = ranges.at(-1);
    if (current && current.last === zip - 1) current.last = zip;
    else ranges.push({ first: zip, last: zip });
  }
  return ranges.map(({ first, last }) => (first === last ? written(first) : `${written(first)}-${written(last)}`));
}

const written = (zip: number) => String(zip).padStart(5, '0');

function grouped<T>(rows: readonly T[], keyOf: (row: T) => string): [key: string, rows: T[]][] {
  const groups = new Map<string, T[]>();
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row]);
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}
