import { startService } from '@recur/platform';
import { billing } from './service.js';

await startService(billing);
