import { Controller } from '@nestjs/common';
import { type In, listVatNumberValidations, type ValidResult, validateVatNumber } from '@recur/contracts';
import { type Caller, contains, Db, given, Handle } from '@recur/platform';
import { type VatNumberCheck, vatNumberChecks } from './tables.js';
import { parseVatNumber } from './vat-number.js';
import { VatNumbers } from './vat-numbers.js';

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
