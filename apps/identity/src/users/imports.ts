import { Controller } from '@nestjs/common';
import {
  type ImportRow,
  type In,
  importUsers,
  newUser,
  type Out,
  type RowIssue,
  userType,
  validate,
} from '@recur/contracts';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { emailKey } from '../domain/email.js';
import { planNameOf } from './accounts.js';
import { userAggregate } from './aggregate.js';
import { type Edit, edited } from './edits.js';
import { type User, users } from './tables.js';
import { newUserRow, refuseTakenAtCommit } from './users.js';

type Row = ImportRow<'UserImport'>;

/** The fields of user/new by the columns of an import. */
const fieldOf = {
  Email: 'email',
  ExternalUserId: 'externalUserId',
  FirstName: 'firstName',
  LastName: 'lastName',
  Type: 'type',
  CompanyName: 'companyName',
  RegistrationNumber: 'registrationNumber',
  VATNumber: 'vATNumber',
  Phone: 'phone',
  Address: 'address',
  City: 'city',
  State: 'state',
  ZipCode: 'zipCode',
  CountryCode: 'countryCode',
  Language: 'language',
} as const satisfies Record<keyof Required<Row>, keyof In<typeof newUser>>;

const columnOf = new Map<string, string>(Object.entries(fieldOf).map(([column, field]) => [field, column]));

/** Users of a file, all or none; billing has read it, and keeps the task. */
@Controller()
export class UserImports {
  constructor(private readonly db: Db) {}

  @Handle(importUsers)
  take({ task, dry, rows }: In<typeof importUsers>, caller: Caller): Promise<Out<typeof importUsers>> {
    return this.db.write(caller, async tx => {
      const asked = rows.map(({ row, fields }) => ({ row, ...checked(row, fields) }));
      const found = await heldBy(tx, asked);
      const issues = asked.flatMap(({ row, edit, issues: own }) => [
        ...own,
        ...(edit ? found.issuesOf(row, edit) : []),
      ]);
      if (issues.length > 0) return { issues, results: [] };
      const results: Out<typeof importUsers>['results'] = [];
      for (const { row, edit } of asked) {
        if (!edit) continue;
        const held = found.byEmail.get(emailKey(edit.email));
        const userId = dry ? (held?.id ?? 0) : await takeRow(tx, held, edit);
        results.push({ row, userId, isNew: held === undefined });
      }
      refuseTakenAtCommit(tx);
      if (!dry) tx.log(`Import(${task})`, `Users: ${rows.length}`);
      return { issues: [], results };
    });
  }
}

type NewUser = In<typeof newUser>;

/** The fields of a row, or what is wrong with them. */
function checked(row: number, fields: Row): { edit: NewUser | undefined; issues: RowIssue[] } {
  const { Type, ...texts } = fields;
  const type = Type === undefined ? undefined : (userType as Record<string, number>)[Type.toLowerCase()];
  const wrongType = Type !== undefined && type === undefined;
  const given = Object.entries(texts).map(([column, value]) => [fieldOf[column as keyof Row], value]);
  const result = validate(newUser.input, { ...Object.fromEntries(given), ...(type !== undefined && { type }) });
  const issues = result.ok ? [] : result.issues;
  const found = issues.map(({ path, message }): RowIssue => {
    const field = path.slice(1);
    return {
      row,
      column: columnOf.get(field) ?? '',
      message: message.startsWith(`${field} `) ? message.slice(field.length + 1) : message,
    };
  });
  if (wrongType) found.push({ row, column: 'Type', message: `must be ${Object.keys(userType).join(' or ')}` });
  return { edit: result.ok && !wrongType ? result.value : undefined, issues: found };
}

/** Users who hold e-mails or external ids of the rows, locked, and the faults of rows beside them and each other. */
async function heldBy(tx: Tx, asked: readonly { row: number; edit: NewUser | undefined }[]) {
  const edits = asked.flatMap(({ row, edit }) => (edit ? [{ row, edit }] : []));
  const emails = edits.map(({ edit }) => emailKey(edit.email));
  const externalIds = edits.flatMap(({ edit }) => edit.externalUserId || []);
  const held = await tx.lockFound(users, lockText, [tx.merchantId, emails, externalIds]);
  const byEmail = new Map(held.map(user => [user.emailKey, user]));
  const byExternalId = new Map(
    held.filter(user => user.externalUserId !== '').map(user => [user.externalUserId, user]),
  );
  const firstRow = (name: (edit: NewUser) => string) => {
    const rows = new Map<string, number>();
    for (const { row, edit } of edits) if (name(edit) !== '' && !rows.has(name(edit))) rows.set(name(edit), row);
    return rows;
  };
  const [emailRows, idRows] = [firstRow(({ email }) => emailKey(email)), firstRow(externalIdOf)];
  return {
    byEmail,
    issuesOf(row: number, edit: NewUser): RowIssue[] {
      const issues: RowIssue[] = [];
      const email = emailKey(edit.email);
      const externalId = externalIdOf(edit);
      const sameEmail = emailRows.get(email);
      if (sameEmail !== row) issues.push({ row, column: 'Email', message: `is that of row ${sameEmail} too` });
      const sameId = externalId === '' ? row : idRows.get(externalId);
      const holder = byExternalId.get(externalId);
      const column = 'ExternalUserId';
      if (sameId !== row) issues.push({ row, column, message: `is that of row ${sameId} too` });
      else if (holder && holder.emailKey !== email)
        issues.push({ row, column, message: `is that of user ${holder.id}` });
      return issues;
    },
  };
}

const externalIdOf = ({ externalUserId = '' }: NewUser): string => externalUserId;

const lockText = `select * from users where merchant_id = $1 and (email_key = any($2) or external_user_id = any($3))
  order by id for update`;

/** Creates the user, or updates the one who is there; returns the id. */
async function takeRow(tx: Tx, held: User | undefined, { password: _, email, ...fields }: NewUser): Promise<number> {
  const edit: Edit = fields;
  if (!held) {
    const row = newUserRow(tx, { email, id: await tx.nextId(users) });
    const user = edited(row, edit) ?? row;
    tx.step(userAggregate, user, 'user.created');
    return user.id;
  }
  const next = edited(held, edit);
  if (next) tx.step(userAggregate, { ...next, planName: await planNameOf(tx, held) }, 'user.updated');
  return held.id;
}
