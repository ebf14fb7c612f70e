/** The first words of operation names, in the order in which the API is learnt; the document groups by them. */
const tags = {
  product: 'Products group plans. A merchant starts with a default product, whose id is 0.',
  plan: 'Plans are what is sold: a price with its interval, trials, add-ons and prices of usage.',
  user: "Users are the merchant's customers: who is billed, where, and by which payment method.",
  session: 'Sessions sign a user in to the hosted pages, by a link that the merchant creates.',
  checkout: 'Checkout templates decide how the hosted pages look.',
  subscription:
    'Subscriptions bill a user for a plan in every period. They are created, changed, ended and resumed here; a preview ' +
    'computes the invoice without any effect.',
  invoice: 'Invoices are drafted, finished, sent, paid, refunded and cancelled; each total can be explained.',
  payment: 'Payments collect the amount of an invoice through a gateway. Saved payment methods are here too.',
  gateway: 'Gateways are the ways to be paid: card processors, and wire transfer to a bank account.',
  refund: 'Refunds return a payment, wholly or in part, and are documented by a credit note.',
  credit: 'Credit accounts hold a balance that pays invoices: purchased credit and promotional credit.',
  discount: 'Discount codes reduce the price of plans, once or in every period.',
  metric:
    'Metrics measure usage. Events report it, plans charge for it or limit it, and the usage of a period can be read ' +
    'at any time.',
  clock: 'The test clock moves the time of a sandbox merchant, so that a year of billing takes a minute.',
  vat: 'Taxes: VAT numbers and their validation, rates by country, US sales tax and exemptions.',
  currency: 'Exchange rates, and the currencies in which amounts are converted and sold.',
  email: 'The e-mails that were sent to users.',
  search: 'One search field over users, invoices, subscriptions and payments.',
  task: 'Exports of lists as files, which are written in the background.',
  webhook: 'Webhook endpoints receive events as signed requests. Deliveries are logged and can be sent again.',
  member: 'Members are the people who work for the merchant: their access, sign-in and what they did.',
  role: 'Roles grant permissions to members.',
  auth: 'Sign-in of members by an identity provider, and the providers of the merchant.',
  apikey: 'API keys authenticate the servers of the merchant.',
  merchant: 'The profile of the merchant.',
  portal: 'Operations of the hosted pages. They take the token of a user, not an API key.',
  system: 'Facts about this installation.',
} as const satisfies Record<string, string>;

/** The tag of an operation or event: its first word. */
export const tagOf = (name: string): string => name.split('.', 1)[0] ?? '';

/** Tags that are used, in the order of the table; those that it does not have come last, without a description. */
export const tagsOf = (names: readonly string[]): { name: string; description?: string }[] => {
  const used = new Set(names.map(tagOf));
  const known = Object.entries(tags).filter(([name]) => used.has(name));
  const unknown = [...used].filter(name => !Object.hasOwn(tags, name));
  return [...known.map(([name, description]) => ({ name, description })), ...unknown.map(name => ({ name }))];
};
