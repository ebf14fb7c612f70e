import { expect, it } from '@jest/globals';
import { operations } from '@recur/contracts';
import { BaseResolver, createConfig, lintDocument, makeDocumentFromString } from '@redocly/openapi-core';
import { recordedExamples } from '../../apps/gateway/src/docs/examples.js';
import { openApi } from '../../apps/gateway/src/docs/openapi.js';

interface Document {
  paths: Record<string, Record<string, { tags: string[]; summary?: string }>>;
}
const document = openApi(
  operations,
  'daily,buildtime:1',
  'https://recur.test',
  recordedExamples(),
) as unknown as Document;

/** Findings of Redocly's recommended rules, warnings included; it reads no file and asks no host. */
async function findings(of: Document): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] });
  const found = await lintDocument({
    document: makeDocumentFromString(JSON.stringify(of), '/openapi.json'),
    externalRefResolver: new BaseResolver(),
    config,
  });
  return found.map(({ ruleId, message, location: [at] }) => `${ruleId} ${at?.pointer}: ${message}`);
}

it('the OpenAPI document passes the recommended rules of Redocly without a warning', async () => {
  expect(await findings(document)).toEqual([]);
});

it('an operation without a summary, or with an example that does not fit, would be found', async () => {
  const broken = structuredClone(document);
  const path = '/merchant/invoice/new';
  delete broken.paths[path]?.post?.summary;
  expect(await findings(broken)).toEqual([expect.stringContaining('operation-summary')]);
  const misfit = openApi(operations, 'daily,buildtime:1', 'https://recur.test', {
    'invoice.new': { request: { lines: 'none' }, response: { code: 0 } },
  });
  const rules = (await findings(misfit as unknown as Document)).map(finding => finding.split(' ')[0]);
  expect(new Set(rules)).toEqual(new Set(['no-invalid-media-type-examples']));
});
