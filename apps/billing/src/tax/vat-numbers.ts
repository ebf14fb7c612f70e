import { Controller, Injectable } from '@nestjs/common';
import { events, type In, listVatNumberValidations, type ValidResult, validateVatNumber } from '@recur/contracts';
import { DAY_SECONDS } from '@recur/kernel';
import {
  aggregate,
  type Caller,
  contains,
  Db,
  fetchedWork,
  given,
  Handle,
  type Reader,
  systemCaller,
  type Tx,
  type Work,
  type WorkItem,
} from '@recur/platform';
import { taxSettingsOf } from './settings.js';
import { type VatNumber, type VatNumberCheck, vatNumberChecks, vatNumbers } from './tables.js';
import { type ParsedNumber, parseVatNumber } from './vat-number.js';
import { Vies, type ViesAnswer, type ViesNumber } from './vies.js';

/** The kind of work that asks VIES again about a number that documents rely on; its key is the number. */
const RECHECK = 'tax.recheck';

/** How long an answer of VIES counts, in seconds. */
const answerCountsSeconds = 90 * DAY_SECONDS;

export const vatNumberAggregate = aggregate({
  name: 'vat_number',
  title: 'VatNumber',
  events,
  table: vatNumbers,
  key: 'number',
  view: ({ number, countryCode, valid, checkTime, pendingSince }: VatNumber) => ({
    number,
    countryCode,
    valid,
    checkTime,
    pendingSince,
  }),
});

/** The newest answer of VIES about a number in its normal form; undefined if it never answered. */
export async function answerAbout(
  reader: Reader,
  number: string,
): Promise<{ valid: boolean; checkedAt: number } | undefined> {
  const known = await reader.find(vatNumbers, { number });
  return known && known.checkTime > 0 ? { valid: known.valid, checkedAt: known.checkTime } : undefined;
}

/**
 * Marks a number as pending: a document applies reverse charge to it without an answer of VIES. It is to be checked
 * again daily, by the work `tax.recheck`.
 */
export async function markPending(tx: Tx, number: string): Promise<void> {
  tx.onConflict('vat_numbers_pkey', 'again');
  const known = await tx.lockIfAny(vatNumbers, { number });
  if (known && known.pendingSince > 0) return;
  tx.save(vatNumbers, { ...(known ?? (await unchecked(tx.merchantId, number))), pendingSince: tx.now });
  tx.schedule(RECHECK, number, tx.now + DAY_SECONDS);
}

async function unchecked(merchantId: number, number: string): Promise<VatNumber> {
  const { countryCode } = await parseVatNumber(number);
  return { merchantId, number, version: 0, countryCode, valid: false, checkTime: 0, pendingSince: 0 };
}

/** Checks VAT numbers and remembers what came of it. */
@Injectable()
export class VatNumbers {
  /** Asks VIES again daily about the numbers that documents rely on without its answer. */
  readonly work: Work = fetchedWork(
    RECHECK,
    { time: 'merchant', batch: 20, leaseSeconds: 180, atOnce: 1 },
    items => this.askAgain(items),
    async (tx, items, answers) => {
      const stillPending = await this.recheck(tx, items, answers);
      for (const { key } of stillPending) tx.schedule(RECHECK, key, tx.now + DAY_SECONDS);
    },
  );

  constructor(
    private readonly db: Db,
    private readonly vies: Vies,
  ) {}

  /** The check that still counts: an answer of VIES, or if VIES is not asked, the same result of format and checksum. */
  async counting(reader: Reader, parsed: ParsedNumber): Promise<VatNumberCheck | undefined> {
    const newest = async (source: VatNumberCheck['source']) =>
      (await reader.all(vatNumberChecks, { number: parsed.number, source }, 'order by id desc limit 1')).find(
        ({ createTime }) => reader.now - createTime <= answerCountsSeconds,
      );
    const [answer, formal] = await Promise.all([newest('vies'), newest('format')]);
    if (answer || this.asks(parsed)) return answer;
    return formal?.valid === parsed.wellFormed ? formal : undefined;
  }

  /** Asks VIES about a number; undefined if VIES is not to be asked. No transaction may be open. */
  async ask(merchantId: number, parsed: ParsedNumber): Promise<ViesAnswer | undefined> {
    if (!this.asks(parsed)) return undefined;
    const { vatGateway } = await this.db.read(systemCaller(merchantId, 'vies', Number.POSITIVE_INFINITY), reader =>
      taxSettingsOf(reader),
    );
    return this.vies.check(
      viesParts(parsed.number),
      vatGateway?.requester ? viesParts(vatGateway.requester) : undefined,
    );
  }

  /**
   * Records a check. An answer of VIES settles a number that is pending: if it says invalid, `vat.number.invalid` is
   * emitted; documents stay as they are.
   */
  async record(tx: Tx, parsed: ParsedNumber, answer: ViesAnswer | undefined): Promise<VatNumberCheck> {
    const check = { ...checkOf(parsed, answer), merchantId: tx.merchantId, id: await tx.nextId(vatNumberChecks) };
    const row: VatNumberCheck = { ...check, createTime: tx.now };
    tx.save(vatNumberChecks, row);
    if (answer && answer.kind !== 'unavailable') await this.settle(tx, parsed.number, answer.kind === 'valid');
    tx.log(`VatNumber(${parsed.number})`, 'Check');
    return row;
  }

  /** Asks VIES about pending numbers, one after the other. */
  private async askAgain(
    items: readonly { merchantId: number; key: string }[],
  ): Promise<Map<string, ViesAnswer | undefined>> {
    const answers = new Map<string, ViesAnswer | undefined>();
    for (const { merchantId, key } of items) answers.set(key, await this.ask(merchantId, await parseVatNumber(key)));
    return answers;
  }

  /** Records what VIES said about pending numbers. Returns the items whose numbers are still pending. */
  private async recheck(
    tx: Tx,
    items: readonly WorkItem[],
    answers: ReadonlyMap<string, ViesAnswer | undefined>,
  ): Promise<WorkItem[]> {
    const stillPending: WorkItem[] = [];
    for (const item of items) {
      const answer = answers.get(item.key);
      if (answer === undefined || answer.kind === 'unavailable') stillPending.push(item);
      else await this.record(tx.item(item), await parseVatNumber(item.key), answer);
    }
    return stillPending;
  }

  private asks({ wellFormed, inVies }: ParsedNumber): boolean {
    return this.vies.on && wellFormed && inVies;
  }

  private async settle(tx: Tx, number: string, valid: boolean): Promise<void> {
    tx.onConflict('vat_numbers_pkey', 'again');
    const known = (await tx.lockIfAny(vatNumbers, { number })) ?? (await unchecked(tx.merchantId, number));
    const answered = { ...known, valid, checkTime: tx.now };
    // the event tells since when documents rely on the number
    if (known.pendingSince > 0 && !valid) tx.step(vatNumberAggregate, answered, 'vat.number.invalid');
    tx.save(vatNumbers, { ...answered, pendingSince: 0 });
    if (known.pendingSince > 0) tx.unschedule(RECHECK, number);
  }
}

const viesParts = (number: string): ViesNumber => ({ prefix: number.slice(0, 2), local: number.slice(2) });

type Checked = Omit<VatNumberCheck, 'merchantId' | 'id' | 'createTime'>;

function checkOf({ number, countryCode, wellFormed, message }: ParsedNumber, answer: ViesAnswer | undefined): Checked {
  const silent = { companyName: '', companyAddress: '', reference: '', underMaintenance: false };
  const formal: Checked = { ...silent, number, countryCode, source: 'format', valid: wellFormed, message };
  if (answer === undefined) return formal;
  if (answer.kind === 'unavailable') {
    const unanswered = `Format and checksum are valid; VIES could not be asked (${answer.detail})`;
    return { ...formal, underMaintenance: true, message: unanswered };
  }
  const { kind, ...company } = answer;
  const valid = kind === 'valid';
  return { ...formal, ...company, source: 'vies', valid, message: `VIES says that the number is ${kind}` };
}

@Controller()
export class VatNumberOperations {
  constructor(
    private readonly db: Db,
    private readonly numbers: VatNumbers,
  ) {}

  @Handle(validateVatNumber)
  async validate({ vatNumber }: In<typeof validateVatNumber>, caller: Caller) {
    const parsed = await parseVatNumber(vatNumber);
    const counting = await this.db.read(caller, reader => this.numbers.counting(reader, parsed));
    // outside the transaction, which must not wait for the network
    const answer = counting ? undefined : await this.numbers.ask(caller.merchantId, parsed);
    return this.db.write(caller, async tx => {
      const check = counting ?? (await this.numbers.record(tx, parsed, answer));
      return { vatNumberValidate: validResult(check) };
    });
  }

  @Handle(listVatNumberValidations)
  history(input: In<typeof listVatNumberValidations>, caller: Caller) {
    const { searchKey, createTimeStart, createTimeEnd, page, count } = input;
    const part = given(searchKey);
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: vatNumberChecks,
        where: [
          ['(number ilike ? or company_name ilike ?)', part && contains(part)],
          ['create_time >= ?', createTimeStart],
          ['create_time <= ?', createTimeEnd],
        ],
        order: 'create_time desc, id desc',
        page,
        count,
      });
      const entry = (check: VatNumberCheck) => ({ ...validResult(check), id: check.id, createTime: check.createTime });
      return { numberValidateHistoryList: rows.map(entry), total };
    });
  }
}

const validResult = (check: VatNumberCheck): ValidResult => ({
  vatNumber: check.number,
  countryCode: check.countryCode,
  valid: check.valid,
  validateMessage: check.message,
  underMaintenance: check.underMaintenance,
  companyName: check.companyName,
  companyAddress: check.companyAddress,
});
