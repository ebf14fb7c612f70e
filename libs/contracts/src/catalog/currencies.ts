/** Active ISO 4217 currencies by the decimals of their minor unit. */
const codes = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY
    COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR
    IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD
    NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP
    SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG`,
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
} as const;

/** Currency code → exponent of its minor unit (USD 2: an amount of 100 is one dollar; JPY 0; KWD 3). */
export const currencies: ReadonlyMap<string, number> = new Map(
  Object.entries(codes).flatMap(([exponent, list]) => list.split(/\s+/).map(code => [code, Number(exponent)] as const)),
);

/** The exponent of a currency's minor unit. Throws for a code that is not an active one of ISO 4217. */
export function exponentOf(currency: string): number {
  const exponent = currencies.get(currency);
  if (exponent === undefined) throw new Error(`${currency} is not an active ISO 4217 currency`);
  return exponent;
}
