import { machine } from '@recur/kernel';

/** The lifecycle of a user; a suspended user gets no client session. */
export const userLifecycle = machine({
  active: { suspend: 'suspended' },
  suspended: { resume: 'active' },
});
