import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { checkoutRoot } from '../local/home.js';
import type { App } from '../local/settings.js';
import { type Confined, runConfined } from './container.js';

/** Configuration of an image, as a container engine would know it. */
export interface Image {
  /** Folder with its files. */
  root: string;
  cwd: string;
  env: Record<string, string>;
  entrypoint: string[];
  user: string;
}

interface Stage {
  name: string;
  base: string;
  steps: { word: string; rest: string }[];
}

/** Executes the steps of deploy/Dockerfile without a container engine: each stage is a folder, and its layers hard links. */
export class Builder {
  private readonly stages = stagesOf(readFileSync(path.join(checkoutRoot(), 'deploy/Dockerfile'), 'utf8'));
  private readonly dockerignore = readFileSync(path.join(checkoutRoot(), '.dockerignore'), 'utf8');
  /** Stages up to where they begin to depend on the app, by their names. */
  private readonly shared = new Map<string, Image>();

  constructor(private readonly folder: string) {}

  async build(app: App): Promise<Image> {
    const built = new Map<string, Image>();
    let image: Image | undefined;
    for (const stage of this.stages) {
      const at = stage.steps.findIndex(({ word, rest }) => word === 'ARG' && rest.startsWith('APP'));
      const end = at < 0 ? stage.steps.length : at;
      const common = this.shared.get(stage.name) ?? this.layer(built.get(stage.base), `${stage.name}-common`);
      if (!this.shared.has(stage.name)) await this.execute(stage.steps.slice(0, end), common, built);
      this.shared.set(stage.name, common);
      image = at < 0 ? common : this.layer(common, `${stage.name}-${app}`);
      await this.execute(stage.steps.slice(end), image, built, app);
      built.set(stage.name, image);
    }
    if (image === undefined) throw new Error('deploy/Dockerfile has no stage');
    return image;
  }

  private layer(base: Image | undefined, name: string): Image {
    const root = path.join(this.folder, name);
    mkdirSync(root, { mode: 0o755 });
    if (base === undefined) return { root, cwd: '/', env: {}, entrypoint: [], user: 'root' };
    link(base.root, root);
    return { ...base, root, env: { ...base.env } };
  }

  private async execute(
    steps: Stage['steps'],
    image: Image,
    stages: ReadonlyMap<string, Image>,
    app?: App,
  ): Promise<void> {
    for (const { word, rest } of steps) {
      const filled = app === undefined ? rest : rest.replaceAll('$APP', app);
      if (word === 'WORKDIR') mkdirSync(inside(image, filled), { recursive: true });
      if (word === 'WORKDIR') image.cwd = path.posix.resolve(image.cwd, filled);
      if (word === 'USER') image.user = filled;
      if (word === 'ENTRYPOINT') image.entrypoint = JSON.parse(filled) as string[];
      if (word === 'ENV')
        for (const [, name = '', value = ''] of filled.matchAll(/(\w+)=(\S+)/g)) image.env[name] = value;
      if (word === 'COPY') this.copy(filled, image, stages);
      if (word === 'RUN') await runConfined(stepOf(image, app), ['bash', '-c', rest.replace(/--mount=\S+/g, '')]);
    }
  }

  private copy(rest: string, image: Image, stages: ReadonlyMap<string, Image>): void {
    const from = /^--from=(\S+)/.exec(rest)?.[1];
    const words = rest.split(/\s+/).filter(word => !word.startsWith('--'));
    const to = words.at(-1) ?? '.';
    for (const source of words.slice(0, -1)) {
      const target = inside(image, to);
      if (from !== undefined) {
        mkdirSync(target, { recursive: true });
        link(path.join(stages.get(from)?.root ?? '', source), target);
        continue;
      }
      const file = path.join(checkoutRoot(), source);
      const isFolder = statSync(file).isDirectory();
      const filter = (each: string) => !isIgnored(this.dockerignore, path.relative(checkoutRoot(), each));
      cpSync(file, isFolder ? target : path.join(target, path.basename(source)), { recursive: true, filter });
    }
  }
}

/** A step of a build sees the settings of npm and of the network that this machine has. */
function stepOf({ root, cwd, env }: Image, app?: App): Confined {
  const names = Object.keys(process.env).filter(name => !/^(npm_|INIT_CWD$|PATH$|NODE_ENV$|NODE_OPTIONS$)/i.test(name));
  const own = Object.fromEntries(names.map(name => [name, process.env[name]]));
  const args = app === undefined ? {} : { APP: app };
  return { root, cwd, env: { ...own, npm_config_prefer_offline: 'true', ...env, ...args } };
}

const inside = (image: Image, file: string) => path.join(image.root, path.posix.resolve(image.cwd, file));

function link(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-al', `${from}/.`, to], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

function stagesOf(text: string): Stage[] {
  const stages: Stage[] = [];
  const lines = text.split('\n').filter(line => !line.startsWith('#'));
  for (const line of lines.join('\n').replaceAll('\\\n', ' ').split('\n')) {
    const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    const [base = '', , name = 'image'] = rest.split(/\s+/);
    if (word === 'FROM') stages.push({ name, base, steps: [] });
    else if (word !== '') stages.at(-1)?.steps.push({ word, rest });
  }
  return stages;
}

/** True if .dockerignore keeps a path from the build: the last line that fits it or a folder above it decides. */
export function isIgnored(dockerignore: string, file: string): boolean {
  let ignored = false;
  for (const line of dockerignore.split('\n').filter(text => text !== '' && !text.startsWith('#'))) {
    const pattern = line
      .replace(/^!/, '')
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replace(/\*\*\/|\*/g, stars => (stars === '*' ? '[^/]*' : '(?:.*/)?'));
    if (new RegExp(`^${pattern}(?:/.*)?$`).test(file)) ignored = !line.startsWith('!');
  }
  return ignored;
}
