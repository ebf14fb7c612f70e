import { isDeepStrictEqual } from 'node:util';
import { Controller } from '@nestjs/common';
import { deleteRole, editRole, grantOf, type In, inOrder, listRoles, newRole } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader, type Tx } from '@recur/platform';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import { merchants } from '../merchants/tables.js';
import { roleAggregate } from './aggregates.js';
import { refuseExcess, rolesOf } from './grants.js';
import { members, type Role, roles } from './tables.js';
import { roleView } from './views.js';

const rolesPerMerchant = 100;

/** Roles of a merchant: names for sets of permissions. */
@Controller()
export class Roles {
  constructor(
    private readonly db: Db,
    private readonly sessions: MemberSessions,
  ) {}

  @Handle(listRoles)
  list(_input: In<typeof listRoles>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const merchantRoles = (await allRoles(reader)).map(roleView);
      return { merchantRoles, total: merchantRoles.length };
    });
  }

  @Handle(newRole)
  create({ role: name, permissions }: In<typeof newRole>, caller: Caller) {
    return this.db.write(caller, async tx => {
      // serializes creation, so that the count is exact
      await tx.lockIfAny(merchants, {});
      await refuseExcess(tx, caller, grantOf(permissions));
      if ((await allRoles(tx)).length >= rolesPerMerchant) throw new Rejected('too_many_roles');
      const role: Role = {
        merchantId: tx.merchantId,
        id: await tx.nextId(roles),
        ...roleName(name),
        permissions: inOrder(permissions),
        createTime: tx.now,
        deletedTime: 0,
        version: 0,
      };
      refuseTakenName(tx);
      return { merchantRole: tx.step(roleAggregate, role, 'role.created', { log: 'New' }).view };
    });
  }

  @Handle(editRole)
  edit({ id, role: name, permissions }: In<typeof editRole>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const role = await tx.lock(roleAggregate, { id, deletedTime: 0 }, 'role_not_found');
      const next = { ...role, ...roleName(name), permissions: inOrder(permissions) };
      const isRegranted = grantOf(next.permissions) !== grantOf(role.permissions);
      const isKept = next.name === role.name && isDeepStrictEqual(next.permissions, role.permissions);
      if (isKept) return { merchantRole: roleView(role) };
      await refuseExcess(tx, caller, grantOf(next.permissions), grantOf(role.permissions));
      refuseTakenName(tx);
      const merchantRole = tx.step(roleAggregate, next, 'role.updated', { log: 'Edit' }).view;
      if (isRegranted) await this.regrant(tx, next);
      return { merchantRole };
    });
  }

  @Handle(deleteRole)
  delete({ id }: In<typeof deleteRole>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const role = await tx.lock(roleAggregate, { id, deletedTime: 0 }, 'role_not_found');
      const [having] = await tx.query(
        'select count(*) as n from members where merchant_id = $1 and $2::bigint = any(role_ids)',
        [tx.merchantId, id],
      );
      const n = Number(having?.n);
      if (n > 0) throw inUse(n);
      tx.step(roleAggregate, { ...role, deletedTime: tx.now }, 'role.deleted', { log: 'Delete' });
      return {};
    });
  }

  /**
   * Locks all members with the role, signed in or not, and publishes their new permissions. A concurrent sign-in either
   * commits first, with the old permissions that are replaced here, or starts with the new ones.
   */
  private async regrant(tx: Tx, role: Role): Promise<void> {
    const having = await tx.run(
      'select id from members where merchant_id = $1 and $2::bigint = any(role_ids) order by id for update',
      [tx.merchantId, role.id],
    );
    const ids = having.map(({ id }) => Number(id));
    const locked = await tx.among(members, 'id', ids);
    const known = new Map(await rolesOf(tx, locked)).set(role.id, role);
    await this.sessions.regrant(tx, locked, known);
  }
}

/** The merchant's live roles, newest first. */
export const allRoles = (reader: Reader): Promise<Role[]> =>
  reader.all(roles, { deletedTime: 0 }, `order by create_time desc, id desc limit ${rolesPerMerchant}`);

const refuseTakenName = (tx: Tx) => tx.onConflict('roles_name', () => invalid('/role', 'Another role has this name'));

const roleName = (name: string) => ({ name: name.trim(), nameKey: name.trim().toLowerCase() });

const inUse = (n: number) =>
  new Rejected('role_in_use', `${n === 1 ? '1 member has' : `${n} members have`} this role: remove it from them first`);
