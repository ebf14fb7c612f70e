import { startService } from '@recur/platform';
import { readMerchantArgs } from './merchants/merchant-args.js';
import { readLogArgs } from './operation-log/log-args.js';
import { identity } from './service.js';

const [command = '', ...args] = process.argv.slice(2);
// usage errors are reported without a database
const readers = new Map<string, (args: readonly string[]) => { wrong?: string }>([
  ['merchant', readMerchantArgs],
  ['log', readLogArgs],
]);
const wrong = readers.get(command)?.(args).wrong;
if (wrong !== undefined) {
  process.stderr.write(`${wrong}\n`);
  process.exit(64);
}
await startService(identity);
