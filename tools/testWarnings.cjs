/**
 * Loaded into every process of a test run: records deprecation warnings of pg, which fail the run, since the next major
 * version of pg removes what they warn of.
 */
const { appendFileSync } = require('node:fs');
const path = require('node:path');

const folder = process.env.TEST_RECORD_DIR;

process.on('warning', ({ name, message }) => {
  if (!folder || name !== 'DeprecationWarning' || !/pg@\d/.test(message)) return;
  appendFileSync(path.join(folder, `${process.pid}.txt`), `warning ${message.split('\n', 1)[0]}\n`);
});
