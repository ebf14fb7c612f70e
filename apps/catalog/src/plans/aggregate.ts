import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { plans } from './tables.js';
import { planView } from './views.js';

export const planAggregate = aggregate({
  name: 'plan',
  title: 'Plan',
  events,
  table: plans,
  key: 'id',
  view: planView,
  ids: ({ id: planId }) => ({ planId }),
  lookups: { externalPlanId: externalPlanId => ({ externalPlanId, deletedTime: 0 }) },
});
