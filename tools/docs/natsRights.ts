import {
  eventSubject,
  internalOperations,
  keptBy,
  type Service,
  services,
  snapshotOperations,
  subjectOf,
} from '@recur/contracts';
import { followedBy, streamOf } from '@recur/platform';
import { table } from './fields.js';
import { withPart } from './formatted.js';

type Definition = Parameters<typeof followedBy>[0];

/** Rights of a user of NATS. Subjects may have wildcards; a subscription may name its queue group after a blank. */
interface Rights {
  user: string;
  publish: readonly string[];
  subscribe: readonly string[];
  /** Answers the requests that it receives, each once. */
  responds?: true;
  /** Consumers that it pulls from, in words. */
  pulls?: string;
}

/** Counts of the account, which the version before asks for at its start. */
const account = '$JS.API.INFO';
const inbox = (user: string) => `_INBOX.${user}.>`;
const pullFrom = (stream: string, consumer: string) => [
  `$JS.API.CONSUMER.INFO.${stream}.${consumer}`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`,
  `$JS.ACK.${stream}.${consumer}.>`,
];

/** The rights of every user but `operator`, from the contract table and what the services declare. */
export function rightsOf(all: readonly Definition[]): Rights[] {
  return [gateway(), ...services.flatMap(name => all.filter(each => each.name === name).map(ofService)), migrator(all)];
}

const gateway = (): Rights => ({
  user: 'gateway',
  publish: [...services.map(service => `cmd.${service}.>`)],
  subscribe: [inbox('gateway'), eventSubject('identity', 'callers.changed'), 'beat.identity.callers'],
});

function ofService(definition: Definition): Rights {
  const { name, copies = [] } = definition;
  const followed = followedBy(definition);
  const asked = new Set([
    ...copies
      .flatMap(({ owner }) => [snapshotOperations(owner).state, snapshotOperations(owner).snapshot])
      .map(subjectOf),
    ...followed
      // also where it follows itself: notification tells of endpoints by webhooks
      .filter(({ order }) => order === 'every')
      .map(({ from }) => subjectOf(snapshotOperations(from as Service).events)),
    ...internalOperations.filter(({ askedBy }) => askedBy?.includes(name)).map(subjectOf),
  ]);
  const awaitedBy = services.filter(owner =>
    Object.values(keptBy[owner] ?? {})
      .flat()
      .includes(name),
  );
  const owners = new Set([name, ...followed.map(({ from }) => from)]);
  return {
    user: name,
    publish: [
      `evt.${name}.>`,
      `nudge.${name}`,
      ...awaitedBy.map(owner => `seen.${owner}`),
      ...(name === 'identity' ? ['beat.identity.callers'] : []),
      ...[...asked].sort(),
      account,
      ...[...owners].sort().map(from => `$JS.API.STREAM.INFO.${streamOf(from)}`),
      ...followed.flatMap(({ from, name: consumer }) => pullFrom(streamOf(from), consumer)),
    ],
    subscribe: [`cmd.${name}.> ${name}`, `nudge.${name}`, ...(keptBy[name] ? [`seen.${name}`] : []), inbox(name)],
    responds: true,
    pulls: followed.map(({ name: consumer }) => `\`${consumer}\``).join(', '),
  };
}

const migrator = (all: readonly Definition[]): Rights => ({
  user: 'migrator',
  publish: [
    ...services.flatMap(service => ['INFO', 'CREATE'].map(verb => `$JS.API.STREAM.${verb}.${streamOf(service)}`)),
    ...all.flatMap(followedBy).flatMap(({ name, from, subject }) => {
      const stream = streamOf(from);
      const made = `$JS.API.CONSUMER.CREATE.${stream}.${name}.evt.${from}.${subject}`;
      return [`$JS.API.CONSUMER.INFO.${stream}.${name}`, made];
    }),
  ],
  subscribe: [inbox('migrator')],
});

/** The file deploy/nats-users.conf. */
export function natsUsers(all: readonly Definition[]): string {
  const users = rightsOf(all).map(({ user, publish, subscribe, responds }) =>
    [
      `    {`,
      `      user: ${user}, password: $${user.toUpperCase()}_LOGIN`,
      `      permissions: {`,
      `        publish: [`,
      ...publish.map(subject => `          "${subject}"`),
      `        ]`,
      `        subscribe: [${subscribe.map(subject => `"${subject}"`).join(', ')}]`,
      ...(responds ? [`        allow_responses: { max: 1, expires: "1m" }`] : []),
      `      }`,
      `    }`,
    ].join('\n'),
  );
  return `${head}authorization {\n  users: [\n${users.join('\n')}\n${operator}\n  ]\n}\n`;
}

const head = `# Who may do what on the bus: a user for each app, one for the migrate step, one for operators. Used by deploy/nats.conf and
# by the local stack. Made by tools/docs/write.ts from the contract table: change that, not this file.
# Each password comes from the environment, in quotes (a bare one that looks like a number would be read as one).
#
# An app receives its own commands, in its queue group alone, answers each once, and gets replies in an inbox of its own
# name. Only the gateway sends commands; services ask each other the questions about copies that they keep, publish their
# own events, tell each other which copies they keep by now, and pull from their own consumers. Streams and consumers are
# made by the migrate step.
`;
const operator = `    # everything: the nats command line tool, and load tests
    { user: operator, password: $OPERATOR_LOGIN }`;

/** The page with its table of rights made again. */
export const withRights = (page: string, all: readonly Definition[]): string =>
  withPart(page, 'rights', rightsTable(all));

function rightsTable(all: readonly Definition[]): string {
  const rows = rightsOf(all).map(({ user, publish, subscribe, pulls = '' }) => {
    // rights on consumers are told by the names of these
    const told = publish.filter(subject => !/^\$JS\.(ACK|API\.CONSUMER)\./.test(subject));
    const list = (subjects: readonly string[]) => subjects.map(subject => `\`${subject}\``).join(' ');
    return [`\`${user}\``, list(told), list(subscribe), user === 'migrator' ? 'makes them all' : pulls];
  });
  return table(['user', 'may publish', 'may subscribe to', 'consumers that it pulls from'], rows);
}
