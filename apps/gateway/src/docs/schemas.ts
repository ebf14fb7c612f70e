import { z } from 'zod';

export type Json = Record<string, unknown>;
type Io = 'input' | 'output';

interface Named {
  /** The operation or event that alone has the name, or `shape` for the shapes that any of them may use. */
  owner: string;
  schema: Json;
}

/** Components of the document: JSON Schemas of contract shapes and whatever else has a name, each once. */
export class Components {
  private readonly byName = new Map<string, Named>();

  /** The components, sorted by name. */
  get all(): Json {
    const sorted = [...this.byName].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, { schema }]) => [name, schema]));
  }

  /** Adds a component, or finds the same one of the same owner, and returns a reference to it. Throws if it is another. */
  add(name: string, schema: Json, owner = 'shape'): Json {
    const known = this.byName.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify({ owner, schema })) {
      throw new Error(`Two shapes are named ${name}`);
    }
    this.byName.set(name, { owner, schema });
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The schema of a shape, itself inline; the named shapes within it become components. */
  of(type: z.ZodType, io: Io): Json {
    const schema = z.toJSONSchema(type, { target: 'draft-2020-12', io }) as Json;
    const { $schema: _, $defs = {}, 'x-shape': __, id: ___, ...root } = schema;
    for (const [id, shape] of Object.entries($defs as Record<string, Json>)) {
      const { id: ____, ...unnamed } = shape;
      this.add(nameOf(id, io), this.adapted(unnamed, io));
    }
    return this.adapted(root, io);
  }

  private adapted(schema: Json, io: Io): Json {
    return JSON.parse(JSON.stringify(schema), (key, value) => {
      if (key === '$ref' && typeof value === 'string') {
        return value.replace(/^#\/\$defs\/(.+)$/, (_, id: string) => `#/components/schemas/${nameOf(id, io)}`);
      }
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      if (value['x-openapi'] !== undefined) {
        const { 'x-openapi': keywords, ...others } = value;
        return { ...others, ...keywords };
      }
      if (typeof value['x-shape'] === 'string') return this.hoisted(value);
      if (isFreeForm(value)) return this.freeForm(value);
      return io === 'input' ? withExample(withFormat(value)) : asAnswered(withFormat(value));
    });
  }

  /** Makes a component of an object that is named by `x-shape`; the words of its place remain there. */
  private hoisted({ 'x-shape': name, description, default: fallback, ...shape }: Json): Json {
    return {
      ...this.add(String(name), shape),
      ...(description !== undefined && { description }),
      ...(fallback !== undefined && { default: fallback }),
    };
  }

  /** Refers to the one component of free-form objects: else each would be a type of its own in generated clients. */
  private freeForm({ type, propertyNames, additionalProperties, ...words }: Json): Json {
    const isAny = JSON.stringify(additionalProperties) === '{}';
    if (!isAny) return { ...words, type, additionalProperties };
    return {
      ...this.add('JsonObject', { type, description: 'A free-form object', additionalProperties: true }),
      ...words,
    };
  }
}

/** True for an object that may have any members. */
const isFreeForm = ({ type, properties, propertyNames }: Json) =>
  type === 'object' && properties === undefined && propertyNames !== undefined;

/** Integers go up to ±(2^53−1): without the format, clients in some languages would read them into 32 bits. */
const withFormat = (schema: Json): Json =>
  schema.type === 'integer' && !('enum' in schema) ? { ...schema, format: 'int64' } : schema;

/** Drops the bounds of exact integers, which say nothing of an answer, and that an object has no other fields: it may gain some. */
function asAnswered(schema: Json): Json {
  const { minimum, maximum, additionalProperties, ...others } = schema;
  return {
    ...others,
    ...(additionalProperties !== undefined && additionalProperties !== false && { additionalProperties }),
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
  };
}

/** Gives a bounded number an example: viewers would else show its bound, or 1 instead of its default. */
function withExample(schema: Json): Json {
  const isNumber = schema.type === 'integer' || schema.type === 'number';
  const isBounded = 'minimum' in schema || 'maximum' in schema;
  if (!isNumber || !isBounded || 'default' in schema || 'enum' in schema) return schema;
  return { ...schema, examples: [Math.max(1, Number(schema.minimum ?? 1))] };
}

/** The name of a shape; inputs and outputs of one name may differ. */
const nameOf = (id: string, io: Io) => (io === 'input' ? `${id}Input` : id);

/** `payment.new_item` as part of a type's name: `PaymentNewItem`. */
export const pascal = (name: string) =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
