import { startService } from '@recur/platform';
import { catalog } from './service.js';

await startService(catalog);
