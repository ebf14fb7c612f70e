import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parse, parseAllDocuments } from 'yaml';
import { checkoutRoot } from '../../local/home.js';

const helm = path.join(checkoutRoot(), 'deploy/helm');
export const read = (file: string) => readFileSync(path.join(helm, file), 'utf8');

interface Selector {
  matchLabels: Record<string, string>;
}
export interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef: { name: string; key: string; optional?: boolean } };
}
export interface Container {
  name: string;
  image: string;
  args?: string[];
  env: Variable[];
  ports?: { name: string; containerPort: number }[];
  securityContext?: {
    allowPrivilegeEscalation?: boolean;
    readOnlyRootFilesystem?: boolean;
    capabilities?: { drop?: string[] };
  };
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  lifecycle?: { preStop: { sleep: { seconds: number } } };
}
interface Probe {
  httpGet?: { path: string; port: string };
}
export interface PodSpec {
  automountServiceAccountToken?: boolean;
  enableServiceLinks?: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type: string } };
  containers: Container[];
}
interface Peer {
  ipBlock?: { cidr: string; except?: string[] };
}
/** The parts of a manifest that the policies look at. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec: {
    replicas?: number;
    strategy?: { rollingUpdate?: { maxUnavailable?: number; maxSurge?: number } };
    selector: Selector & Record<string, string>;
    podSelector: Selector;
    policyTypes: string[];
    template: { metadata: { labels: Record<string, string> }; spec: PodSpec };
    maxReplicas?: number;
    maxReplicaCount?: number;
    maxUnavailable?: number;
    scaleTargetRef?: { name: string };
    ingress?: { ports?: { port: string | number }[] }[];
    egress?: { to?: Peer[]; ports?: { port: number }[] }[];
    triggers?: { type: string; metadata: Record<string, string> }[];
  };
}

export const manifestsIn = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map(document => document.toJS() as Manifest | null)
    .filter(manifest => manifest !== null);

/** The name of an app in a manifest's labels. */
export const componentOf = ({ metadata }: Manifest) => metadata.labels['app.kubernetes.io/component'] ?? '';
export const appOf = ({ spec }: Manifest) =>
  /recur-(\w+):/.exec(spec.template.spec.containers[0]?.image ?? '')?.[1] ?? '';

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
const validators = new Map<string, ValidateFunction>();
const schemaFiles = readdirSync(path.join(helm, 'schemas'));

/** Faults of a value by a schema of deploy/helm/schemas, or of the chart's values. */
export function violations(schemaFile: string, value: unknown): string[] {
  const validate = validators.get(schemaFile) ?? ajv.compile(JSON.parse(read(schemaFile)));
  validators.set(schemaFile, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** Faults of a manifest by the schema of its kind; unknown fields are faults. */
export function manifestViolations(manifest: Manifest): string[] {
  const [group = '', version] = manifest.apiVersion.split('/');
  const suffix = version === undefined ? group : `${group.split('.')[0]}-${version}`;
  const file = `${manifest.kind.toLowerCase()}-${suffix}.json`;
  if (!schemaFiles.includes(file)) return [`${manifest.metadata.name}: there is no schema ${file}`];
  return violations(`schemas/${file}`, manifest).map(problem => `${manifest.kind} ${manifest.metadata.name}${problem}`);
}

type Values = Record<string, unknown>;
const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Values as helm merges them: maps into each other, all else replaced. */
export function merged(base: Values, over: Values): Values {
  const result = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isMap(value) && isMap(below) ? merged(below, value) : value;
  }
  return result;
}

export const valuesOf = (variant: string): Values =>
  merged(parse(read('recur/values.yaml')), parse(read(`values-${variant}.yaml`)));
