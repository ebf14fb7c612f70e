import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { scenarioOf } from '../../simulate/scenario.js';
import { fileOf, simulated } from '../../simulate/simulate.js';
import { printed } from '../../simulate/timeline.js';
import { startReceiver } from '../receiver.js';
import { type Stand, startStand } from './stand.js';

/*
 * The scenarios of `npm run simulate`, each lived by a merchant of its own and compared with the timeline beside it: every
 * step, document, event and e-mail.
 */

const folder = path.dirname(fileOf(['upgrade']));
const names = readdirSync(folder).flatMap(file => (file.endsWith('.yaml') ? [file.slice(0, -'.yaml'.length)] : []));
const mails = mkdtempSync(path.join(tmpdir(), 'recur-mails-'));

let stand: Stand;
beforeAll(async () => {
  stand = await startStand({ billing: { MAIL_FOLDER: mails } });
});
afterAll(async () => {
  await stand.close();
  rmSync(mails, { recursive: true, force: true });
});

it.each(names)('%s is lived as its timeline says', async name => {
  const scenario = scenarioOf(readFileSync(path.join(folder, `${name}.yaml`), 'utf8'));
  const receiver = await startReceiver();
  const entries = await simulated(stand.stack, receiver, scenario, () => undefined).finally(() => receiver.close());
  expect(`${printed(entries)}\n`).toBe(readFileSync(path.join(folder, `${name}.txt`), 'utf8'));
});
