import { startService } from '@recur/platform';
import { identity } from './service.js';

await startService(identity);
