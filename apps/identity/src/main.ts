import { startService } from '@recur/platform';
import { readWords } from './merchant-words.js';
import { identity } from './service.js';

const [command, ...words] = process.argv.slice(2);
// how the command is used can be seen without a database
const { wrong } = command === 'merchant' ? readWords(words) : { wrong: undefined };
if (wrong !== undefined) {
  process.stderr.write(`${wrong}\n`);
  process.exit(64);
}
await startService(identity);
