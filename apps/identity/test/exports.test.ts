import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  type ExportTask,
  exportColumns,
  exportRows,
  listUsers,
  nameOfCode,
  newUser,
  operationLogList,
  optAccountType,
  updateUser,
  userType,
} from '@recur/contracts';
import { ask } from '@recur/platform';
import { type MovableClock, type TestService, testService } from '@recur/platform/testing';
import { identity } from '../src/service.js';

let t: TestService;
const ids: number[] = [];

beforeAll(async () => {
  t = await testService(identity);
  for (let at = 0; at < 13; at++) {
    const name = ['Ada', '=1+1', 'Zoë'][at % 3];
    const { user } = await t.done(newUser, {
      email: `user${at}@example.com`,
      firstName: name,
      externalUserId: `e${at}`,
    });
    ids.push(user.id);
    if (at % 4 > 0) (t.clock as MovableClock).advance(60);
  }
  const details = { companyName: 'Looms, Ltd', city: 'York', countryCode: 'GB', type: 2, vATNumber: 'GB1' };
  await t.done(updateUser, { userId: ids[3], ...details });
  await t.done(newUser, { email: 'else@example.com' }, { merchantId: 16 });
});
afterAll(() => t.close());

/** The rows of an export, asked for as billing does, `count` at a time. */
async function exported(task: ExportTask, payload: object, count: number, merchantId = 15) {
  const columns = Object.keys(exportColumns(task));
  const rows: Record<string, unknown>[] = [];
  for (let after: string | undefined = ''; after !== undefined; ) {
    const input = { task, payload: { ...payload }, columns, after, count };
    const page: { rows: unknown[][]; next?: string | undefined } = await ask(
      t.bus,
      exportRows,
      input,
      t.callerOf({ merchantId }),
    );
    expect(page.rows.length).toBeLessThanOrEqual(count);
    rows.push(...page.rows.map(row => Object.fromEntries(columns.map((name, at) => [name, row[at]]))));
    after = page.next;
  }
  return rows;
}

it.each([
  {},
  { firstName: 'A' },
  { searchKey: 'looms' },
  { userId: 4 },
  { subscriptionId: 'sub_x' },
  { status: [2] },
  { status: [9] },
])('an export of users holds exactly what their list shows under %j', async filters => {
  const { userAccounts } = await t.done(listUsers, { count: 1_000, ...filters });
  const expected = userAccounts.map(user => ({
    Id: user.id,
    Email: user.email,
    ExternalUserId: user.externalUserId,
    FirstName: user.firstName,
    LastName: user.lastName,
    Status: user.status === 0 ? 'active' : 'suspended',
    Language: user.language,
    Type: nameOfCode(userType, user.type),
    CreateTime: user.createTime,
    LastLoginAt: user.lastLoginAt,
    CompanyName: user.companyName,
    RegistrationNumber: user.registrationNumber,
    VATNumber: user.vATNumber,
    Phone: user.phone,
    Address: user.address,
    City: user.city,
    State: user.state,
    ZipCode: user.zipCode,
    CountryCode: user.countryCode,
    CountryName: user.countryName,
    SubscriptionId: '',
    SubscriptionName: '',
    SubscriptionStatus: '',
    GatewayId: user.gatewayId,
  }));
  expect(await exported('UserExport', filters, 3)).toEqual(expected);
});

it.each([{}, { memberEmail: 'nobody' }, { email: 'user3@' }, { invoiceId: 'in_1' }])(
  'an export of the operation log holds exactly what its list shows under %j',
  async filters => {
    const { merchantOperationLogs } = await t.done(operationLogList, { count: 1_000, ...filters });
    const expected = merchantOperationLogs.map(entry => ({
      Id: entry.id,
      CreateTime: entry.createTime,
      Account: entry.optAccount,
      Target: entry.optTarget,
      AccountType: nameOfCode(optAccountType, entry.optAccountType),
      Content: entry.optContent,
      MemberId: entry.memberId,
      MemberEmail: entry.member?.email ?? '',
      UserId: entry.userId,
      PlanId: entry.planId,
      InvoiceId: entry.invoiceId,
      SubscriptionId: entry.subscriptionId,
      DiscountCode: entry.discountCode,
    }));
    expect(await exported('OperationLogExport', filters, 4)).toEqual(expected);
  },
);

it("there is nothing of another merchant's, and no filter that the list does not take", async () => {
  const rows = await exported('UserExport', {}, 100, 16);
  expect(rows.map(({ Email }) => Email)).toEqual(['else@example.com']);
  await expect(exported('UserExport', { nmae: 'x' }, 3)).rejects.toMatchObject({ issues: [{ path: '/payload/nmae' }] });
});
