import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { type Operation, operations } from '@recur/contracts';
import type { Input, Output, Path, WebhookOrder, webhookReceiver } from '../src/index.js';

/** Compiles only while the two are one type. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(is: Same<A, B>) => is;

it('types follow from the contract table: wrong paths, methods and inputs do not compile', () => {
  const checks = [
    same<Output<'/portal/user/detail'>['user']['email'], string>(true),
    same<Input<'/portal/plan/detail'>['planId'], number>(true),
    same<Input<'/portal/invoice/list'>['page'], number | undefined>(true),
    same<'/portal/user/detail' extends Path<'POST'> ? true : false, false>(true),
    same<'/merchant/user/none' extends Path ? true : false, false>(true),
    same<{ planId: string } extends Input<'/portal/plan/detail'> ? true : false, false>(true),
    same<{ firstName: string } extends Input<'/merchant/user/new'> ? true : false, false>(true),
    same<'/merchant/invoice/list' extends Path<'GET'> & Path<'POST'> ? true : false, true>(true),
  ];
  expect(checks).not.toContain(false);
});

interface Writes {
  secrets: readonly string[];
  on: { 'invoice.paid': (event: unknown, transaction: { insert(): void }) => void };
}
type Takes<O> = typeof webhookReceiver extends (options: O) => unknown ? true : false;

it('handlers that take a transaction need an order that gives one', () => {
  const checks = [
    same<Takes<{ secrets: readonly string[]; on: { 'invoice.paid': () => void } }>, true>(true),
    same<Takes<Writes & { order: WebhookOrder<{ insert(): void }> }>, true>(true),
    same<Takes<Writes>, false>(true),
  ];
  expect(checks).not.toContain(false);
});

/** For each list of the table, the fields of its answer that are arrays. */
const listsOf = (table: readonly Operation[]) =>
  table
    .map(({ path, output }) => ({ path, fields: Object.entries((output as { shape?: object }).shape ?? {}) }))
    .filter(({ fields }) => fields.length > 1 && fields.some(([name]) => name === 'total'))
    .map(({ path, fields }) => ({ path, arrays: fields.filter(([, { type }]) => type === 'array').length }));

it('an answer with a total has one list, which pages() finds without the table', () => {
  const lists = listsOf(operations);
  expect(lists.length).toBeGreaterThan(15);
  expect(lists.filter(({ arrays }) => arrays !== 1)).toEqual([]);
});

/** Imports that a browser would have to load: all but types and files of the client. */
const loaded = (text: string) =>
  [...text.matchAll(/^(?:import|export) (?!type )[^;]*?from '(?!\.)([^']+)'/gm)].map(([, name]) => name);

it('the client loads nothing but itself', () => {
  expect(loaded("import { z } from 'zod';\nimport type { A } from '@recur/contracts';")).toEqual(['zod']);
  const folder = path.join(import.meta.dirname, '../src');
  const files = readdirSync(folder).map(file => readFileSync(path.join(folder, file), 'utf8'));
  expect(files.length).toBeGreaterThan(4);
  expect(files.flatMap(loaded)).toEqual([]);
});
