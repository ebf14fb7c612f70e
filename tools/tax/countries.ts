/** A rate of sales-tax's JSON; `before` has the rates that applied until the given instants. */
interface SourceRate {
  rate: number;
  before?: Readonly<Record<string, { rate: number }>>;
}

export interface CountrySources {
  /** sales-tax: res/sales_tax_rates.json. */
  rates: Readonly<Record<string, SourceRate>>;
  /** sales-tax: res/region_countries.json. */
  regions: { EU: readonly string[] };
  /** i18n-iso-countries: codes.json, rows of alpha-2, alpha-3 and numeric codes. */
  codes: readonly (readonly string[])[];
  /** i18n-iso-countries: langs/en.json. */
  names: Readonly<Record<string, string | readonly string[]>>;
}

/** Parts per million from a day on; '' is the beginning of the record. */
type DatedRate = [from: string, ratePpm: number];

export interface Country {
  code: string;
  /** ISO 3166-1 numeric. */
  id: number;
  name: string;
  eu?: true;
  /** `190000 2025-08-01:210000`: parts per million, from the beginning of the record and from a day on. */
  rates?: string;
}

/** Rates that the source has wrong or not yet. Days are those of the national laws. */
const corrections: Readonly<Record<string, DatedRate[]>> = {
  BH: [
    ['', 50_000],
    ['2022-01-01', 100_000],
  ],
  BS: [
    ['', 120_000],
    ['2022-01-01', 100_000],
  ],
  EC: [
    ['', 120_000],
    ['2024-04-01', 150_000],
  ],
  KZ: [
    ['', 120_000],
    ['2026-01-01', 160_000],
  ],
  // neither Kuwait nor Qatar levies VAT
  KW: [],
  LI: [
    ['', 77_000],
    ['2024-01-01', 81_000],
  ],
  LK: [
    ['', 80_000],
    ['2022-06-01', 120_000],
    ['2022-09-01', 150_000],
    ['2024-01-01', 180_000],
  ],
  PK: [
    ['', 170_000],
    ['2023-02-14', 180_000],
  ],
  QA: [],
  // the source has this change a day late
  RO: [
    ['', 190_000],
    ['2025-08-01', 210_000],
  ],
  RU: [
    ['', 200_000],
    ['2026-01-01', 220_000],
  ],
  // the statutory 10 % has been reduced to 7 % without interruption
  TH: [['', 70_000]],
  TR: [
    ['', 180_000],
    ['2023-07-10', 200_000],
  ],
  // the US has no federal sales tax: its rates are entered by the merchant
  US: [],
};

/** Names that are in common use, where the source puts another one first. */
const commonNames: Readonly<Record<string, string>> = {
  CI: "Côte d'Ivoire",
  CN: 'China',
  CZ: 'Czechia',
  GM: 'Gambia',
  IR: 'Iran',
  MK: 'North Macedonia',
  PS: 'Palestine',
  RU: 'Russia',
  TW: 'Taiwan',
  TZ: 'Tanzania',
  US: 'United States',
};

/** All countries of ISO 3166-1 (and Kosovo, XK), with their standard rates of VAT or GST, ordered by code. */
export function countriesOf({ rates, regions, codes, names }: CountrySources): Country[] {
  const all = codes.map(([code = '', , numeric]): Country => {
    const history = corrections[code] ?? historyOf(rates[code]);
    return {
      code,
      id: Number(numeric),
      name: nameOf(code, names[code]),
      ...(regions.EU.includes(code) && { eu: true as const }),
      ...(history.length > 0 && { rates: history.map(written).join(' ') }),
    };
  });
  return all.toSorted((a, b) => (a.code < b.code ? -1 : 1));
}

function historyOf(source: SourceRate | undefined): DatedRate[] {
  if (!source) return [];
  const ends = Object.keys(source.before ?? {}).sort();
  const past = ends.map((end, at): DatedRate => [dayOf(ends[at - 1]), ppmOf(source.before?.[end]?.rate)]);
  return [...past, [dayOf(ends.at(-1)), ppmOf(source.rate)]];
}

const written = ([from, ratePpm]: DatedRate) => (from === '' ? `${ratePpm}` : `${from}:${ratePpm}`);

const ppmOf = (rate = 0) => Math.round(rate * 1_000_000);

/** The day that begins at an instant, which the source writes a few hours early: its clocks are those of Europe. */
function dayOf(instant: string | undefined): string {
  if (instant === undefined) return '';
  const fewHours = 3 * 3_600_000;
  return new Date(Date.parse(instant) + fewHours).toISOString().slice(0, 10);
}

function nameOf(code: string, names: string | readonly string[] | undefined): string {
  const name = commonNames[code] ?? (typeof names === 'string' ? names : names?.[0]);
  if (!name) throw new Error(`${code} has no name`);
  return name;
}
