/** A VAT number as its text alone tells. */
export interface ParsedNumber {
  /** In capitals, without spaces and punctuation; canonical if it is well-formed. */
  number: string;
  /** Two letters, as written: EL for Greece, XI for Northern Ireland; '' if there is none. */
  prefix: string;
  /** ISO 3166-1 code of the prefix's country: GR for EL, GB for XI. */
  countryCode: string;
  /** Format and checksum are those of its country. */
  wellFormed: boolean;
  /** True if VIES has numbers of this prefix. */
  inVies: boolean;
  message: string;
}

type Library = typeof import('stdnum').stdnum;
let loadedLibrary: Library | undefined;

/** The library takes a fifth of a second to load, and most processes never check a number. */
async function library(): Promise<Library> {
  loadedLibrary ??= (await import('stdnum')).stdnum;
  return loadedLibrary;
}

/** The library's name of the VAT number of each prefix. */
const vatKinds: Readonly<Record<string, string>> = {
  AT: 'uid',
  BE: 'vat',
  BG: 'vat',
  CY: 'vat',
  CZ: 'dic',
  DE: 'vat',
  DK: 'cvr',
  EE: 'kmkr',
  EL: 'vat',
  ES: 'nif',
  FI: 'alv',
  FR: 'tva',
  HR: 'oib',
  HU: 'anum',
  IE: 'vat',
  IT: 'iva',
  LT: 'pvm',
  LU: 'tva',
  LV: 'pvn',
  MT: 'vat',
  NL: 'btw',
  PL: 'nip',
  PT: 'nif',
  RO: 'cif',
  SE: 'vat',
  SI: 'ddv',
  SK: 'dph',
  XI: 'vat',
  GB: 'vat',
  IS: 'vsk',
  NO: 'mva',
};
const outsideVies = new Set(['GB', 'IS', 'NO']);
const countryOf: Readonly<Record<string, string>> = { EL: 'GR', XI: 'GB' };

/** A VAT number in capitals, without what people write between its characters. */
const normalised = (text: string): string => text.toUpperCase().replace(/[\s.\-/_]+/g, '');

/** Checks the format and checksum of a VAT number with the prefix of its country. */
export async function parseVatNumber(text: string): Promise<ParsedNumber> {
  const number = normalised(text);
  // Greece's ISO code is often written in place of its prefix
  const prefix = (/^[A-Z]{2}/.exec(number)?.[0] ?? '').replace('GR', 'EL');
  const kind = vatKinds[prefix];
  const countryCode = countryOf[prefix] ?? prefix;
  const parsed = { prefix, countryCode, inVies: kind !== undefined && !outsideVies.has(prefix) };
  if (kind === undefined) {
    const message = 'The number does not begin with the prefix of a country whose numbers can be checked, such as EE';
    return { ...parsed, number, countryCode: '', wellFormed: false, message };
  }
  const local = number.slice(2);
  const result = (await library())[countryCode]?.[kind]?.validate(local);
  if (!result?.isValid) {
    const message = `Format or checksum is not that of a VAT number with the prefix ${prefix}`;
    return { ...parsed, number: prefix + local, wellFormed: false, message };
  }
  const message = 'Format and checksum are valid; VIES was not asked';
  return { ...parsed, number: prefix + result.compact, wellFormed: true, message };
}
