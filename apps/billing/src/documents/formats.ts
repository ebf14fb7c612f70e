import { decimalOf, type Language, locales } from '@recur/kernel';

/** Parts per million in one. */
const PPM_DIGITS = 6;

/** How one document writes amounts, dates, rates and countries. Formatters of Intl are costly: keep one for many uses. */
export class Formats {
  private readonly money: Intl.NumberFormat;
  private readonly day: Intl.DateTimeFormat;
  private readonly percent: Intl.NumberFormat;
  private readonly count: Intl.NumberFormat;
  private readonly regions: Intl.DisplayNames;

  constructor(
    language: Language,
    private readonly currency: { code: string; decimals: number },
    timeZone: string,
  ) {
    const locale = locales[language];
    const { code, decimals } = currency;
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    this.money = new Intl.NumberFormat(locale, { style: 'currency', currency: code, ...digits });
    this.day = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: knownZone(timeZone) });
    this.percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 4 });
    this.count = new Intl.NumberFormat(locale);
    this.regions = new Intl.DisplayNames(locale, { type: 'region' });
  }

  /** An amount in minor units, exact at any size. */
  amount(minor: bigint): string {
    return this.money.format(decimalOf(minor, this.currency.decimals));
  }

  /** The day of a time in unix seconds, in the document's time zone. */
  date(seconds: number): string {
    return this.day.format(seconds * 1000);
  }

  rate(ratePpm: number): string {
    return this.percent.format(decimalOf(BigInt(ratePpm), PPM_DIGITS));
  }

  quantity(count: number): string {
    return this.count.format(count);
  }

  /** The name of a country; the code itself where it is none. */
  country(code: string): string {
    if (!/^[A-Z]{2}$/.test(code)) return code;
    return this.regions.of(code) ?? code;
  }
}

/** The zone, or UTC for a blank or unknown one. */
function knownZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: timeZone || 'UTC' }).resolvedOptions().timeZone;
  } catch {
    return 'UTC';
  }
}
