import type { Cluster } from './cluster.js';
import type { Node } from './node.js';
import type { Replica } from './replicas.js';

/** Parts of a run, each of which can be its only one. */
export const parts = ['nats', 'postgres', 'redis', 'apps'] as const;
export type Part = (typeof parts)[number];

/** A fault that lasts until it is mended. */
export interface Harm {
  /** The node and its fault: `postgres-1 killed`. */
  name: string;
  part: Part;
  begin(): Promise<void>;
  mend(): Promise<void>;
}

/**
 * Every fault of a cluster: each node cut off from all, cut off from its peers, and killed; each replica frozen, and killed.
 * Each kind of fault goes round before the next begins, since clients leave a node that fails, and do not come back by
 * themselves.
 */
export function harms({ network, nodes, replicas }: Cluster): Harm[] {
  const ofNodes = (['nats', 'postgres', 'redis'] as const).flatMap(part => {
    const each = (
      what: string,
      begin: (node: Node) => void | Promise<void>,
      mend: (node: Node) => void | Promise<void>,
    ) =>
      nodes[part].map(node => ({
        name: `${node.name} ${what}`,
        part,
        begin: async () => begin(node),
        mend: async () => mend(node),
      }));
    const peersOf = (node: Node) => nodes[part].filter(other => other !== node).map(({ name }) => name);
    const heal = ({ name }: Node) => network.heal(name);
    const cuts = [
      ...each('cut off', ({ name }) => network.cutOff(name), heal),
      ...each('cut off from its peers', node => network.cutFrom(node.name, peersOf(node)), heal),
    ];
    return [
      ...(network.separate ? cuts : []),
      ...each(
        'killed',
        node => node.kill(),
        node => node.start(),
      ),
    ];
  });
  const ofReplicas = (what: string, begin: (replica: Replica) => void | Promise<void>, mend: typeof begin) =>
    replicas.map(replica => ({
      name: `${replica.name} ${what}`,
      part: 'apps' as const,
      begin: async () => begin(replica),
      mend: async () => mend(replica),
    }));
  return [
    ...ofNodes,
    ...ofReplicas(
      'frozen',
      replica => replica.freeze(),
      replica => replica.thaw(),
    ),
    ...ofReplicas(
      'killed',
      replica => replica.kill(),
      replica => replica.start(),
    ),
  ];
}
