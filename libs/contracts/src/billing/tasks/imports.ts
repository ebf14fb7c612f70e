import type { Permission } from '../../operation.js';

/**
 * Content of a cell of an import: text; a whole number of at least 1; an amount in major units; a percentage such as 19 or
 * 8.25; `YYYY-MM-DD HH:MM:SS` in UTC, or a date; yes or no; a JSON value.
 */
export type CellKind = 'text' | 'integer' | 'amount' | 'percentage' | 'time' | 'flag' | 'json';

export interface ImportColumn {
  is: CellKind;
  /** A row without it is refused. */
  required?: true;
  /** Other headers of it, in files of other systems. */
  or?: readonly string[];
  means: string;
}

/** A kind of import: the permission that it takes beside that of imports, and its columns. */
export interface ImportKind {
  permission: Permission;
  columns: Readonly<Record<string, ImportColumn>>;
}

const text = (means: string) => ({ is: 'text', means }) as const;

const user = {
  ExternalUserId: text('Your own id of the user'),
  Email: text('Names the user where ExternalUserId is blank'),
} as const;

const sold = {
  ExternalSubscriptionId: { is: 'text', required: true, means: 'Its id elsewhere; each is taken once' },
  ...user,
  ExternalPlanId: text('Your own id of the plan'),
  PlanId: { is: 'integer', means: 'Names the plan where ExternalPlanId is blank' },
  Quantity: { is: 'integer', means: 'Units of the plan; default 1' },
  Amount: {
    is: 'amount',
    means: 'Price of all units for a full period, without tax; default: the price of the plan',
  },
  Currency: text('Default: the currency of the plan'),
  Gateway: { is: 'text', required: true, means: 'Name of one of your gateways: stripe, wire_transfer' },
  CurrentPeriodStart: { is: 'time', required: true, means: 'Start of the period that was paid last' },
  CurrentPeriodEnd: { is: 'time', required: true, means: 'Its end' },
  CreateTime: { is: 'time', means: 'Default: CurrentPeriodStart' },
  Metadata: { is: 'json', means: 'An object' },
} as const satisfies Readonly<Record<string, ImportColumn>>;

export const importKinds = {
  UserImport: {
    permission: 'user.write',
    columns: {
      Email: { is: 'text', required: true, means: 'A user who has it already is updated by the cells that are filled' },
      ExternalUserId: text('Your own id of the user'),
      FirstName: text('First name'),
      LastName: text('Last name'),
      Type: text('individual or business'),
      CompanyName: text('Name of the company'),
      RegistrationNumber: text('Registration number of the company'),
      VATNumber: text('VAT number'),
      Phone: text('Phone number'),
      Address: text('Street and number'),
      City: text('City'),
      State: text('State or province'),
      ZipCode: text('Postal code'),
      CountryCode: text('ISO 3166-1 alpha-2'),
      Language: text('Language of mails and documents, such as en'),
    },
  },
  ActiveSubscriptionImport: {
    permission: 'subscription.write',
    columns: {
      ...sold,
      BillingCycleAnchor: {
        is: 'time',
        required: true,
        means: 'The boundary from which its periods are counted',
      },
      FirstPaidTime: { is: 'time', means: 'Default: CreateTime' },
      TrialEnd: { is: 'time', means: 'Set where it is in a trial, which ends with its period' },
      CancelAtPeriodEnd: { is: 'flag', means: 'It ends with its period' },
      AddOns: {
        is: 'json',
        means: 'A list of { externalPlanId or planId, quantity, amount }, amount as of the plan',
      },
      DiscountCode: text('A recurring code, which reduces its invoices from the next one on; it may have expired'),
      CountryCode: text('Of its tax; default: that of the user'),
      VatNumber: text('Of its tax; default: that of the user'),
      TaxPercentage: { is: 'percentage', means: 'Taxed at this percentage in place of the rules' },
      GatewayUserId: { is: 'text', or: ['StripeUserId'], means: "The gateway's own id of the user" },
      GatewayPaymentMethod: {
        is: 'text',
        or: ['StripePaymentMethod', 'PaypalVaultId'],
        means: "The gateway's own id of the payment method that is charged",
      },
      ExpectedTotalAmount: { is: 'amount', means: 'Total of its next invoice: the row is refused where that differs' },
      Features: text('No effect'),
    },
  },
  HistorySubscriptionImport: { permission: 'subscription.write', columns: sold },
} as const satisfies Readonly<Record<string, ImportKind>>;

export type ImportTask = keyof typeof importKinds;
export const importTasks = Object.keys(importKinds) as [ImportTask, ...ImportTask[]];

/** The suffix of a task that is only tried: nothing is changed. */
export const DRY = ':dry';
export type ImportName = ImportTask | `${ImportTask}${typeof DRY}`;
export const importNames = importTasks.flatMap((task): ImportName[] => [task, `${task}${DRY}`]) as [
  ImportName,
  ...ImportName[],
];

/** The task that a name tries or does. */
export const taskOfImport = (name: ImportName): ImportTask =>
  (name.endsWith(DRY) ? name.slice(0, -DRY.length) : name) as ImportTask;

/** The most rows of a file. */
export const importLimits = { rows: 5_000 } as const;

/** The words of ImportResult for a row without a fault. */
export const importResult = {
  isNew: 'new',
  wasThere: 'was there',
  canBeTaken: 'can be taken',
  taken: 'taken',
  notTaken: 'not taken: other rows were refused',
} as const;

/** The columns of an import by name, in order. */
export const importColumns = (task: ImportTask): Readonly<Record<string, ImportColumn>> => importKinds[task].columns;

type Columns<T extends ImportTask> = (typeof importKinds)[T]['columns'];
type ValueOf<K extends CellKind> = K extends 'text'
  ? string
  : K extends 'json'
    ? unknown
    : K extends 'flag'
      ? boolean
      : K extends 'amount'
        ? string
        : number;
/**
 * A row of an import by column; a blank cell is absent. Amounts are decimals as text, times unix seconds, percentages basis
 * points.
 */
export type ImportRow<T extends ImportTask> = {
  [C in keyof Columns<T>]?: Columns<T>[C] extends { is: infer K extends CellKind } ? ValueOf<K> : never;
};
