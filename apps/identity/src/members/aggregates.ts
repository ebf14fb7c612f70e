import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { members, roles } from './tables.js';
import { memberEvent, roleView } from './views.js';

export const memberAggregate = aggregate({
  name: 'member',
  title: 'Member',
  events,
  table: members,
  key: 'id',
  view: memberEvent,
});

export const roleAggregate = aggregate({
  name: 'role',
  title: 'Role',
  events,
  table: roles,
  key: 'id',
  view: roleView,
});
