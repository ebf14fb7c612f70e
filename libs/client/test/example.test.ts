import { afterEach, expect, it } from '@jest/globals';
import { createClient, orThrow } from '@recur/client';
import { type Scripted, success } from './server.js';

const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
});

/** Answers calls of the example in turn, whatever their host is; returns their paths. */
function answering(answers: readonly Scripted[]): string[] {
  const paths: string[] = [];
  globalThis.fetch = async url => {
    const answer = answers[paths.push(new URL(String(url)).pathname) - 1] ?? 'cut';
    if (typeof answer === 'string') throw new TypeError('no answer is left');
    return new Response(answer.body, { status: answer.status });
  };
  return paths;
}

it('the example of the README compiles and runs', async () => {
  const user = { id: 5, email: 'kim@example.com' };
  const paths = answering([success({ user }), success({ user }), success({ invoices: [], total: 0 })]);

  const recur = createClient({ baseUrl: 'https://billing.example.com', credential: process.env.RECUR_KEY });

  const created = await recur.post('/merchant/user/new', { email: 'kim@example.com' });
  if (!created.ok) console.error(created.error.type, created.error.issues);

  const made = orThrow(await recur.post('/merchant/user/new', { email: 'kim@example.com' }));

  for await (const invoice of recur.pages('/merchant/invoice/list', { userId: made.user.id }))
    console.log(invoice.number);

  expect(created).toMatchObject({ ok: true, data: { user } });
  expect(paths).toEqual(['/merchant/user/new', '/merchant/user/new', '/merchant/invoice/list']);
});
