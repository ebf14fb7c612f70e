import { machine } from '@recur/kernel';

/** A user's life: nothing is opened for one who is suspended. */
export const userLifecycle = machine({
  active: { suspend: 'suspended' },
  suspended: { resume: 'active' },
});
