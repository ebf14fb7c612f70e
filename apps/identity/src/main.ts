import { startService } from '@recur/platform';
import { readWords } from './merchants/merchant-args.js';
import { readLogWords } from './operation-log/log-args.js';
import { identity } from './service.js';

const [command = '', ...words] = process.argv.slice(2);
// how a command is used can be seen without a database
const readers = new Map<string, (words: readonly string[]) => { wrong?: string }>([
  ['merchant', readWords],
  ['log', readLogWords],
]);
const wrong = readers.get(command)?.(words).wrong;
if (wrong !== undefined) {
  process.stderr.write(`${wrong}\n`);
  process.exit(64);
}
await startService(identity);
