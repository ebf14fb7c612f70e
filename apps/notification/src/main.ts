import { startService } from '@recur/platform';
import { notification } from './service.js';

await startService(notification);
