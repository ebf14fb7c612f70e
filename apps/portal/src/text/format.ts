/** Decimals of the currencies that have other than two; Intl's own table differs from ISO 4217 in some. */
const decimals: Record<string, number> = Object.fromEntries(
  [
    'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
    '',
    '',
    'BHD IQD JOD KWD LYD OMR TND',
    'CLF UYW',
  ].flatMap((list, count) => (list === '' ? [] : list.split(' ').map(currency => [currency, count]))),
);

/** Decimals of a currency's minor unit. */
export const decimalsOf = (currency: string) => decimals[currency] ?? 2;

/** An amount of minor units as an exact decimal: 1234 EUR is 12.34. */
export function decimalOf(amount: number, currency: string): string {
  const count = decimalsOf(currency);
  const digits = String(Math.abs(amount)).padStart(count + 1, '0');
  const whole = digits.slice(0, digits.length - count);
  return `${amount < 0 ? '-' : ''}${whole}${count > 0 ? `.${digits.slice(-count)}` : ''}`;
}

/** A decimal divided by 10^count, exactly. */
function shifted(decimal: string, count: number): string {
  const [whole = '', fraction = ''] = decimal.split('.');
  const digits = whole.padStart(count + 1, '0');
  const at = digits.length - count;
  return `${digits.slice(0, at)}.${digits.slice(at)}${fraction}`;
}

/** Amounts, dates and durations as a language writes them. Times are unix seconds, 0 is written as nothing. */
export function formats(locale: string) {
  const amount = (minor: number, currency: string) => {
    const count = decimalsOf(currency);
    const digits = { minimumFractionDigits: count, maximumFractionDigits: count };
    const format = new Intl.NumberFormat(locale, { style: 'currency', currency: currency || 'XXX', ...digits });
    return format.format(decimalOf(minor, currency) as Intl.StringNumericLiteral);
  };
  const unitPrice = (minor: string, currency: string) => {
    const least = decimalsOf(currency);
    const digits = { minimumFractionDigits: least, maximumFractionDigits: 12 };
    const format = new Intl.NumberFormat(locale, { style: 'currency', currency: currency || 'XXX', ...digits });
    return format.format(shifted(minor, least) as Intl.StringNumericLiteral);
  };
  const dated = (options: Intl.DateTimeFormatOptions) => (seconds: number, timeZone?: string) =>
    seconds === 0
      ? ''
      : new Intl.DateTimeFormat(locale, { ...options, timeZone: zoneOf(timeZone) }).format(seconds * 1000);
  const durations = (unit: string) => new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' });
  return {
    amount,
    /** The price of a unit, which may be a fraction of the minor unit: "0.5" EUR is €0.005. */
    unitPrice,
    date: dated({ year: 'numeric', month: 'short', day: 'numeric' }),
    moment: dated({
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: 'numeric',
      minute: '2-digit',
      timeZoneName: 'short',
    }),
    number: (value: number) => new Intl.NumberFormat(locale).format(value),
    /** 10000 is 100 %. */
    percent: (value: number) =>
      new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 }).format(value / 10_000),
    /** "3 months"; the unit as plans have it. */
    duration: (count: number, unit: string) => durations(unit).format(count),
    country: (code: string) =>
      /^[A-Z]{2}$/.test(code) ? new Intl.DisplayNames(locale, { type: 'region' }).of(code) : code,
  };
}
export type Formats = ReturnType<typeof formats>;

/** A zone that Intl knows; else that of the browser. */
function zoneOf(timeZone: string | undefined): string | undefined {
  if (!timeZone) return undefined;
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return timeZone;
  } catch {
    return undefined;
  }
}
