import { type ExportRow, type In, type listUsers, nameOfCode, subscriptionStatus, userType } from '@recur/contracts';
import type { Caller, Db, SliceAt, Sliced } from '@recur/platform';
import { viewsOf } from './accounts.js';
import { usersByText, usersWhere } from './lists.js';
import { users } from './tables.js';

/** The next users of user/list, newest first, as rows of an export. */
export async function exportedUsers(
  db: Db,
  caller: Caller,
  input: In<typeof listUsers>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'UserExport'>>> {
  const byText = await usersByText(db, caller, input);
  return db.read(caller, async reader => {
    const where = await usersWhere(reader, input, byText);
    if (!where) return { rows: [], next: undefined };
    const { rows, next } = await reader.slice({ from: users, where, by: ['createTime', 'id'], ...at });
    const views = await viewsOf(reader, rows);
    const shown = views.map((user, index) => ({
      Id: user.id,
      Email: user.email,
      ExternalUserId: user.externalUserId,
      FirstName: user.firstName,
      LastName: user.lastName,
      Status: rows[index]?.status ?? '',
      Type: nameOfCode(userType, user.type),

      Language: user.language,
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
      GatewayId: user.gatewayId,
      SubscriptionId: user.subscriptionId,
      SubscriptionName: user.subscriptionName,
      SubscriptionStatus: user.subscriptionId === '' ? '' : nameOfCode(subscriptionStatus, user.subscriptionStatus),
    }));
    return { rows: shown, next };
  });
}
