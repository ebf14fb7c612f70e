import { type Text, useText } from '../text/text.js';
import { formulaOf, type Numbers } from './formula.js';
import type { Explanation, Invoice } from './lines.js';

type LineReason = Explanation['lines'][number];
type Tax = Pick<Invoice['taxes'][number], 'category' | 'source' | 'jurisdiction' | 'reason'>;

/** The rule that gave a tax rate, in the reader's language; as the API words it where the pages do not know the rule. */
export function taxReason({ t, find, country }: Text, { category, source, jurisdiction, reason }: Tax): string {
  if (category === 'AE') return t('tax.reverse');
  const place = country(jurisdiction) || jurisdiction;
  const isOutside = category === 'O' && source === 'us';
  const known = isOutside ? t('tax.outside', { place }) : find(`tax.${source}`)?.replace('{place}', place);
  // the merchant's own words follow
  const own = source === 'exemption' ? reason.split(': ').slice(1).join(': ') : '';
  return known === undefined ? reason : own ? `${known}: ${own}` : known;
}

interface Props {
  reason: LineReason;
  taxes: Invoice['taxes'];
  currency: string;
}

/** How an amount was computed, from the inputs that the API explains it by. */
export function Why({ reason, taxes, currency }: Props) {
  const text = useText();
  const { t, amount } = text;
  const { amountExcludingTax: net = 0, discount, promoCredit, tax = 0 } = reason.inputs as Numbers;
  const base = formulaOf(reason.inputs, currency, text);
  const decided = taxes.find(each => each.reason === reason.taxReason);
  const sum = [
    amount(net, currency),
    ...(discount ? [`− ${amount(discount, currency)} ${t('total.discount')}`] : []),
    ...(promoCredit ? [`− ${amount(promoCredit, currency)} ${t('total.credit')}`] : []),
    `${tax < 0 ? '−' : '+'} ${amount(Math.abs(tax), currency)} ${t('why.tax')}`,
    `= ${amount(reason.amount, currency)}`,
  ];
  return (
    <>
      <p>
        {base}
        {base && <br />}
        {sum.join(' ')}
      </p>
      {reason.taxReason && <p className="soft">{decided ? taxReason(text, decided) : reason.taxReason}</p>}
    </>
  );
}
