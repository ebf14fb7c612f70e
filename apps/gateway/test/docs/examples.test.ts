import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { ignoredFields, type Operation, operations, validate } from '@recur/contracts';
import { z } from 'zod';
import { type Examples, recordedExamples } from '../../src/docs/examples.js';
import { openApi } from '../../src/docs/openapi.js';

const envelope = z.strictObject({
  code: z.literal(0),
  data: z.unknown(),
  merchantId: z.int(),
  message: z.literal(''),
  redirect: z.literal(''),
  requestId: z.string().regex(/^req_\w{26}$/),
});

/** Parts of the examples that do not fit the contracts; a field that is unknown or missing does not. */
function wrong(examples: Examples): string[] {
  return Object.entries(examples).flatMap(([name, { request, response, ...others }]) => {
    const operation = operations.find(one => one.name === name);
    if (operation === undefined) return [`${name}: no such operation`];
    return [
      ...Object.keys(others).map(key => `${name}: ${key} is neither request nor response`),
      ...wrongInput(operation, request).map(what => `${name} request ${what}`),
      ...wrongAnswer(operation, response).map(what => `${name} response ${what}`),
    ];
  });
}

function wrongInput({ input }: Operation, request: unknown): string[] {
  const result = validate(input, request);
  const issues = result.ok ? ignoredFields(request, result.value) : result.issues;
  return issues.map(({ path, message }) => `${path}: ${message}`);
}

function wrongAnswer({ output }: Operation, response: unknown): string[] {
  const whole = z
    .object({ ...envelope.shape, data: output })
    .strict()
    .safeParse(response);
  if (!whole.success) return whole.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  return isDeepStrictEqual(whole.data, response) ? [] : ['has fields that the contract does not know'];
}

describe('the recorded examples', () => {
  const recorded = recordedExamples();
  const name = 'invoice.detail';
  const { [name]: example = { request: {}, response: {} } } = recorded;

  it('fit their contracts, field by field', () => {
    expect(Object.keys(recorded).length).toBeGreaterThan(50);
    expect(wrong(recorded)).toEqual([]);
  });

  it('would be found to have a field too many, one too few, or no operation', () => {
    const data = example.response.data as Record<string, unknown>;
    const response = (change: object) => ({ [name]: { ...example, response: { ...example.response, ...change } } });
    const request = (change: object) => ({ [name]: { ...example, request: { ...example.request, ...change } } });
    expect(wrong(response({ data: { ...data, extra: 1 } }))).toEqual([expect.stringContaining('does not know')]);
    expect(wrong(response({ data: {} }))).not.toEqual([]);
    expect(wrong(response({ extra: 1 }))).toHaveLength(1);
    expect(wrong(request({ extra: 1 }))).toEqual([expect.stringContaining('/extra')]);
    expect(wrong({ [name]: { ...example, request: {} } })).not.toEqual([]);
    expect(wrong({ 'plan.eat': example })).toEqual(['plan.eat: no such operation']);
  });

  it('are those of operations whose names are unique', () => {
    const names = operations.map(one => one.name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('are shown where the operation is described', () => {
    interface Endpoint {
      parameters?: { name: string; example?: unknown }[];
      requestBody?: unknown;
      responses: unknown;
    }
    const { paths } = openApi(operations, 'daily,buildtime:1', 'https://x', recorded) as {
      paths: Record<string, { get?: Endpoint; post?: Endpoint }>;
    };
    const told = (example: unknown) => ({ content: { 'application/json': { example } } });
    for (const [each, { request, response }] of Object.entries(recorded)) {
      const { get, post } = paths[operations.find(one => one.name === each)?.path ?? ''] ?? {};
      for (const endpoint of [get, post].filter(one => one !== undefined)) {
        expect(endpoint.responses).toMatchObject({ 200: told(response) });
      }
      if (post !== undefined) expect(post.requestBody).toMatchObject(told(request));
      const shown = (get?.parameters ?? []).flatMap(({ name, example }) =>
        example === undefined ? [] : [[name, example]],
      );
      if (get !== undefined) expect(Object.fromEntries(shown)).toEqual(request);
    }
  });
});
