import {
  operations as all,
  anyMember,
  anyUser,
  type ErrorKind,
  errors,
  eventOccasions,
  events,
  type ImportTask,
  importColumns,
  importTasks,
  type Operation,
  type Service,
  type Slug,
  webhookEventNames,
} from '@recur/contracts';
import { examples } from './examples.js';
import { inputTable, type Schema, schemaOf, shapeTable, table, typeOf } from './fields.js';
import { withPart } from './formatted.js';
import { packed } from './packed.js';

const head = `# API reference

Generated from the contracts by \`tools/docs/apiReference.ts\`: edit those, not this page. Everything that operations have
in common (credentials, the envelope, idempotency, paging) is in [api.md](api.md). A running gateway serves the same
content as OpenAPI at \`/openapi.json\`.`;

const shapesHead = `## Shapes

Every field is always present: 0, \`""\`, \`false\`, \`[]\` or \`{}\` if it is empty, and \`null\` only for an absent object. Some
fields belong to features that do not exist yet and remain empty until they do.`;

/** The services in the order in which readers need them: what is sold, the selling, who, and who is told; those of the hosted pages last. */
const sections: readonly Service[] = ['catalog', 'billing', 'identity', 'notification'];

/** The content of docs/api-reference.md: operations, shapes, errors and webhook events. */
export function apiReference(operations: readonly Operation[] = all): string {
  const shapes = new Map<string, Schema>();
  const collect = (schema: Schema) => {
    for (const [name, shape] of Object.entries(schema.$defs ?? {})) shapes.set(name, shape);
    return schema;
  };
  const ofPages = ({ path }: Operation) => Number(path.startsWith('/portal/'));
  const bySection = sections.map(service =>
    operations.filter(operation => operation.service === service).toSorted((a, b) => ofPages(a) - ofPages(b)),
  );
  const parts = bySection.flatMap((own, at) =>
    own.length === 0 ? [] : [`## ${sections[at]}`, ...own.map(one => section(one, collect))],
  );
  for (const { data } of Object.values(events).filter(({ webhook }) => webhook)) {
    const { $defs = {}, ...shape } = schemaOf(data, 'output');
    collect({ $defs });
    const name = data.meta()?.id;
    if (name !== undefined && !shapes.has(name)) shapes.set(name, shape);
  }
  const byName = [...shapes].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    head,
    index(bySection.flat()),
    ...parts,
    shapesHead,
    ...byName.map(([name, shape]) => `### ${name} (shape)\n\n${shapeTable(shape)}`),
    errorSection(),
    eventSection(),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}

const title = ({ path }: Operation) => path.replace(/^\/(merchant\/)?/, '');
const anchor = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');

function index(operations: readonly Operation[]): string {
  const rows = operations.map(one => [
    `[\`${title(one)}\`](#${anchor(title(one))})`,
    one.methods.join(', '),
    one.service,
    one.summary,
  ]);
  return table(['operation', 'methods', 'service', ''], rows);
}

function section(operation: Operation, collect: (schema: Schema) => Schema): string {
  const { methods, path, summary, effect, secretOutput, memberOnly, oneOfHeaders } = operation;
  const from = methods.includes('GET')
    ? ` GET takes the fields in the query${methods.length > 1 ? ', POST in the body' : ''}.`
    : '';
  const key = effect === 'write' ? 'Honours `Idempotency-Key`' : 'Read-only';
  const secret = secretOutput && effect === 'write' ? ' (the stored answer is encrypted, since it holds a secret)' : '';
  const credential = operation.anonymous ? 'Needs no credential' : permissionText(operation);
  const whose = memberOnly ? ' For member tokens only, not API keys.' : '';
  const headers = oneOfHeaders ? ` Exactly one of the headers ${oneOfHeaders.join(', ')} is required.` : '';
  const output = collect(schemaOf(operation.output, 'output'));
  return [
    `### ${title(operation)}`,
    `\`${methods.join('` or `')}\` \`${path}\``,
    `${summary}.${from}`,
    `${key}${secret}. ${credential}.${whose}${headers}`,
    inputTable(operation),
    `Returns ${answer(output)}.`,
    operation.errors.length > 0
      ? `Specific errors: ${operation.errors.map(slug => `\`${slug}\``).join(', ')}.`
      : 'No specific errors.',
  ].join('\n\n');
}

function permissionText({ permission, also = [] }: Operation): string {
  if (permission === anyMember) return 'No permission needed beyond being signed in';
  if (permission === anyUser) return 'For user tokens of the hosted pages only';
  const more = also.map(each => `\`${each.permission}\`${each.by ? ` with ${each.by.join(' or ')}` : ''}`);
  return [`Permission \`${permission}\``, ...more].join(', and ');
}

function answer(output: Schema): string {
  const fields = Object.entries(output.properties ?? {});
  return fields.length === 0 ? '`{}`' : fields.map(([name, field]) => `\`${name}\` (${typeOf(field)})`).join(', ');
}

function errorSection(): string {
  const rows = Object.entries<ErrorKind>(errors).map(([slug, { code, http, retryable, message }]) => [
    `\`${slug satisfies string as Slug}\``,
    String(code),
    String(http),
    retryable ? 'yes' : '',
    message,
  ]);
  return `## Errors\n\n${table(['error.type', 'code', 'HTTP', 'retryable', 'default message'], rows)}`;
}

function eventSection(): string {
  const bodies = examples.map(({ aggregate, body }) => {
    const about = `${eventOccasions[body.type]} \`data\` is the ${aggregate} after the step.`;
    return `### ${body.type}\n\n${about}\n\n\`\`\`\n${packed(body)}\n\`\`\``;
  });
  const names = webhookEventNames.map(name => `\`${name}\``).join(', ');
  return [
    '## Event names',
    `An endpoint may subscribe to any of these, as \`webhook/event_list\` returns them.\n\n${names}`,
    '## Webhook bodies',
    'Headers, signature and retries are described in [api.md](api.md#webhooks).',
    ...bodies,
  ].join('\n\n');
}

/** The page with its tables: when each event is sent, and the columns of imports. */
export function withTables(page: string): string {
  const occasions = webhookEventNames.map(name => [`\`${name}\``, eventOccasions[name]]);
  const columns = importTasks.map(
    task => `**${task}**\n\n${table(['column', 'required', 'meaning'], columnRows(task))}`,
  );
  return withPart(withPart(page, 'events', table(['event', 'when'], occasions)), 'imports', columns.join('\n\n'));
}

const columnRows = (task: ImportTask) =>
  Object.entries(importColumns(task)).map(([name, { or = [], required, means }]) => [
    [name, ...or].map(known => `\`${known}\``).join(' or '),
    required ? 'yes' : '',
    means,
  ]);
