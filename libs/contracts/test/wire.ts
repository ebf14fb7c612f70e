import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Deviation } from '../src/deviations.js';
import type { Operation } from '../src/operation.js';

type Fields = Record<string, string>;
export interface WireOperation {
  methods: string[];
  path: string;
  request: Fields;
  response: Fields;
  oneOfHeaders?: string[];
}
export interface Wire {
  operations: WireOperation[];
  shapes: Record<string, Fields>;
}

const read = (name: string) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));

/** The wire contract: types as `integer`, `[X]`, `map<string,X>`, a shape's name; a trailing ! marks what is required. */
export function wireContract(): Wire {
  type Shape = { fields: Fields; extends?: string };
  type Raw = { operations: (WireOperation & { method: string; in: string })[]; shapes: Record<string, Shape> };
  const { operations, shapes }: Raw = read('wire-contract.json');
  for (const op of operations) {
    if (op.in !== (op.method === 'GET' ? 'query' : 'body'))
      throw new Error(`${op.path}: fields of ${op.method} in ${op.in}`);
  }
  return {
    operations: operations.map(op => ({ ...op, methods: [op.method] })),
    shapes: Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => [
        name,
        { ...(shape.extends === undefined ? {} : shapes[shape.extends]?.fields), ...shape.fields },
      ]),
    ),
  };
}

/** Operations of the first journey that the wire contract lacks, in a short notation. */
export function lifecycleContract(): Wire {
  type Short = { request: string; response: string; oneOfHeaders?: string[] };
  type Raw = { operations: Record<string, Short>; shapes: Record<string, string> };
  const { operations, shapes }: Raw = read('lifecycle-contract.json');
  return {
    operations: Object.entries(operations).map(([route, { request, response, ...more }]) => {
      const [methods = '', path = ''] = route.split(' ');
      return { methods: methods.split('/'), path, request: fieldsOf(request), response: fieldsOf(response), ...more };
    }),
    shapes: {
      ...wireContract().shapes,
      ...Object.fromEntries(Object.entries(shapes).map(([n, s]) => [n, fieldsOf(s)])),
    },
  };
}

const short: Record<string, string> = {
  s: 'string',
  b: 'boolean',
  i32: 'integer',
  i64: 'integer',
  num: 'number',
  obj: 'object',
};
const longType = (type: string): string => {
  const [, list] = /^\[(.*)\]$/.exec(type) ?? [];
  const [, map] = /^\{k:(.*)\}$/.exec(type) ?? [];
  if (list !== undefined) return `[${longType(list)}]`;
  return map !== undefined ? `map<string,${longType(map)}>` : (short[type] ?? type);
};
const fieldsOf = (list: string): Fields =>
  Object.fromEntries(
    list.split(', ').flatMap(field => {
      const [name = '', type = ''] = field.split(/:(.*)/);
      return field === '' ? [] : [[name.replace('*', ''), longType(type) + (name.endsWith('*') ? '!' : '')]];
    }),
  );

type Node = z.core.JSONSchema.JSONSchema;
interface Walk {
  shapes: Wire['shapes'];
  root: Node;
  found: string[];
  /** The current operation and field. */
  at: string;
}

const deref = (walk: Walk, node: Node | undefined): Node => {
  const name = node?.$ref?.replace('#/$defs/', '');
  const target = name === '#' ? walk.root : name === undefined ? node : walk.root.$defs?.[name];
  return (target ?? {}) as Node;
};
const branches = (walk: Walk, node: Node | undefined): Node[] => {
  const real = deref(walk, node);
  return (real.anyOf ?? [real]).map(branch => deref(walk, branch as Node));
};

const primitives = ['string', 'integer', 'number', 'boolean', 'object'];
const listed = (type: string) => /^\[(.*)\]$/.exec(type)?.[1];
const mapped = (type: string) => /^map<string,(.*)>$/.exec(type)?.[1];
const jsonType = (type: string) => {
  if (listed(type) !== undefined) return 'array';
  return primitives.includes(type) ? type : 'object';
};

/** Mismatches of answers and inputs of `operations` with the wire; empty if everything matches. */
export function problems(wire: Wire, operations: readonly Operation[], deviations?: readonly Deviation[]): string[] {
  const found: string[] = [];
  const stricter: Stricter[] = [];
  for (const expected of wire.operations) {
    const op = operations.find(({ path }) => path === expected.path);
    if (op === undefined) {
      found.push(`${expected.path}: no such operation`);
      continue;
    }
    if (`${[...op.methods].sort()}` !== `${methodsOf(op, expected.methods)}`)
      found.push(`${op.name}: methods ${op.methods}`);
    if (`${op.oneOfHeaders}` !== `${expected.oneOfHeaders}`) found.push(`${op.name}: headers ${op.oneOfHeaders}`);
    const output = z.toJSONSchema(op.output, { io: 'output' });
    answer({ shapes: wire.shapes, root: output, found, at: op.name }, expected.response, output, new Set());
    const input = z.toJSONSchema(op.input, { io: 'input' });
    const walk = { shapes: wire.shapes, root: input, found, at: op.name };
    stricter.push(...request(walk, expected.request, input, '', op.name));
  }
  return deviations === undefined ? found : [...found, ...unlisted(stricter, deviations)];
}

/** The methods of the wire; a list takes GET and POST, whatever the wire names. */
const methodsOf = ({ name }: Operation, methods: readonly string[]) =>
  name.endsWith('list') ? ['GET', 'POST'] : [...methods].sort();

/** Checks that every field of an answer is always present with the wire's type, null only in place of an object. */
function answer(walk: Walk, fields: Fields, node: Node, seen: Set<string>) {
  for (const [name, type] of Object.entries(fields)) {
    const at = `${walk.at}.${name}`;
    const property = node.properties?.[name] as Node | undefined;
    if (property === undefined) walk.found.push(`${at}: missing in the answer`);
    else if (!node.required?.includes(name)) walk.found.push(`${at}: not always in the answer`);
    else value({ ...walk, at }, type, property, seen);
  }
}

function value(walk: Walk, type: string, property: Node, seen: Set<string>) {
  const [node = {}, ...others] = branches(walk, property);
  const nullable = jsonType(type) === 'object' && others.length === 1 && others[0]?.type === 'null';
  if (node.type !== jsonType(type) || (others.length > 0 && !nullable)) {
    walk.found.push(`${walk.at}: the answer has ${node.type ?? JSON.stringify(property)}, the wire ${type}`);
    return;
  }
  const item = listed(type);
  if (item !== undefined) value(walk, item, node.items as Node, seen);
  const member = mapped(type);
  if (member !== undefined) value(walk, member, node.additionalProperties as Node, seen);
  const shape = walk.shapes[type];
  if (shape !== undefined && !seen.has(type)) answer(walk, shape, node, new Set(seen).add(type));
}

interface Stricter {
  operation: string;
  field: string;
  keywords: string[];
}

/** Checks that every field of an input accepts the wire's type; returns where it is stricter. */
function request(walk: Walk, fields: Fields, node: Node, prefix: string, operation: string): Stricter[] {
  const whole = { operation, field: prefix.replace(/\.$/, ''), keywords: 'x-rule' in node ? ['x-rule'] : [] };
  const inner = Object.entries(fields).flatMap(([name, wireType]) => {
    const [type, required] = wireType.endsWith('!') ? [wireType.slice(0, -1), true] : [wireType, false];
    const at = `${walk.at}.${prefix}${name}`;
    const property = node.properties?.[name] as Node | undefined;
    if (property === undefined) {
      walk.found.push(`${at}: missing in the input`);
      return [];
    }
    const needed = node.required?.includes(name) ?? false;
    if (required && !needed) walk.found.push(`${at}: required on the wire, not in the input`);
    return taken(walk, type, property, `${prefix}${name}`, operation, needed && !required ? ['required'] : []);
  });
  return [whole, ...inner];
}

const safe = Number.MAX_SAFE_INTEGER;
const limiting = ['minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'format', 'enum', 'const'];
const keywordsOf = (node: Node) =>
  [...limiting, 'minItems', 'maxItems', 'x-rule'].filter(key => key in node && Math.abs(Number(node[key])) !== safe);

function taken(walk: Walk, type: string, property: Node, field: string, operation: string, more: string[]): Stricter[] {
  const nodes = branches(walk, property);
  const fits = (node: Node) => node.type === jsonType(type) || (type === 'number' && node.type === 'integer');
  const node = nodes.find(fits);
  const item = listed(type);
  if (type === 'any') return [{ operation, field, keywords: 'type' in property || nodes.length > 1 ? ['type'] : [] }];
  if (node === undefined) {
    walk.found.push(`${walk.at}.${field}: the input takes ${nodes.map(({ type }) => type)}, the wire ${type}`);
    return [];
  }
  const narrowed = node.type === jsonType(type) ? [] : ['type'];
  const shape = walk.shapes[type];
  const own = { operation, field, keywords: [...more, ...narrowed, ...keywordsOf(node)] };
  if (item !== undefined) return [own, ...taken(walk, item, node.items as Node, `${field}[]`, operation, [])];
  return shape === undefined
    ? [own]
    : [{ ...own, keywords: more }, ...request(walk, shape, node, `${field}.`, operation)];
}

/** Strictness that is not listed, or listed but absent. Size limits apply everywhere and are listed once, for '*'. */
function unlisted(stricter: Stricter[], deviations: readonly Deviation[]): string[] {
  const everywhere = deviations.filter(({ field }) => field === '*').flatMap(({ adds }) => adds);
  const used = new Set<string>();
  const found = stricter.flatMap(({ operation, field, keywords }) => {
    const entries = deviations.filter(entry => entry.field === field && entry.operations.includes(operation));
    const adds = entries.flatMap(entry => entry.adds);
    for (const keyword of keywords) used.add(`${operation} ${field} ${keyword}`).add(`* ${keyword}`);
    const missing = keywords.filter(keyword => !adds.includes(keyword) && !everywhere.includes(keyword));
    return missing.map(keyword => `${operation}.${field}: ${keyword} is not in deviations.ts`);
  });
  const claims = deviations.flatMap(({ operations, field, adds }) =>
    adds.flatMap(add => (field === '*' ? [`* ${add}`] : operations.map(name => `${name} ${field} ${add}`))),
  );
  return [
    ...found,
    ...claims.filter(claim => !used.has(claim)).map(claim => `${claim}: in deviations.ts, in no schema`),
  ];
}
