import { Controller } from '@nestjs/common';
import { type EmailHistory, emailStatus, type In, listEmailHistory } from '@recur/contracts';
import { type Caller, type Condition, Db, each, given, Handle, type Reader } from '@recur/platform';
import { type Mail, mails } from './tables.js';

type Input = In<typeof listEmailHistory>;

@Controller()
export class MailHistory {
  constructor(private readonly db: Db) {}

  @Handle(listEmailHistory)
  async list(input: Input, caller: Caller) {
    const { page, count, searchKey } = input;
    const part = given(searchKey);
    const found = await this.db.search(caller, 'mails', [{ column: 'texts', field: 'searchKey', part }]);
    return this.db.read(caller, async reader => {
      const where = [...mailConditions(input), each('id', found)];
      const { rows, total } = await reader.page({
        from: mails,
        where,
        order: 'create_time desc, id desc',
        page,
        count,
      });
      return { emailHistories: rows.map(historyView), total, emailHistoryStatistics: await statistics(reader) };
    });
  }
}

const isStatus = (code: number) => Object.values<number>(emailStatus).includes(code);

const mailConditions = (input: Input): Condition[] => [
  ['email_key = ?', given(input.email)?.toLowerCase()],
  each('status', given(input.status)?.filter(isStatus)),
  ['create_time >= ?', given(input.createTimeStart)],
  ['create_time <= ?', given(input.createTimeEnd)],
];

/** Counts stop here, so that a long history does not slow its first page down. */
const mostCounted = 100_000;

/** All e-mails of the merchant, by outcome. */
async function statistics(reader: Reader) {
  const text = `select count(*) from (select from mails where merchant_id = $1 and status = $2 limit ${mostCounted}) counted`;
  const countOf = async (status: number) => Number((await reader.query(text, [reader.merchantId, status]))[0]?.count);
  const { pending, sent, failed } = emailStatus;
  const [waiting = 0, totalSuccess = 0, totalFail = 0] = await Promise.all([pending, sent, failed].map(countOf));
  return { totalSend: waiting + totalSuccess + totalFail, totalSuccess, totalFail };
}

const historyView = (mail: Mail): EmailHistory => ({
  id: mail.id,
  email: mail.email,
  title: mail.title,
  content: mail.content,
  attachFile: mail.attachFile,
  status: mail.status,
  response: mail.response,
  createTime: mail.createTime,
});
