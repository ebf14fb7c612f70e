import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { isIgnored } from '../deploy/image.js';
import { roomForTheYoung } from '../local/apps.js';
import { checkoutRoot } from '../local/home.js';
import { exists, type Guard, only, readFiles, unless, unnoticed } from './deployment.js';

const root = checkoutRoot();
const files = readFiles();
const folders = (of: string) => readdirSync(path.join(root, of)).map(name => `${of}/${name}`);
const apps = folders('apps');
const entrypoint = `ENTRYPOINT [${['node', ...roomForTheYoung, 'dist/main.js'].map(word => `"${word}"`).join(', ')}]`;
const packages = [...folders('libs'), ...apps];

/** The instructions of the Dockerfile, each on one line, and those of its last stage, which are the image. */
const instructions = (text: string) =>
  text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter(line => !line.startsWith('#'));
const lastStage = (lines: readonly string[]) => lines.slice(lines.findLastIndex(line => line.startsWith('FROM ')));
const copied = (text: string) =>
  instructions(text).flatMap(line => /^COPY (?!--from)(.+) \S+$/.exec(line)?.[1]?.split(' ') ?? []);

const guards: Record<string, Guard> = {
  'a build is given what it copies, with the manifest of every package, and nothing that is secret or was built': {
    find(texts) {
      const manifests = [...packages, 'tools'].map(folder => `${folder}/package.json`);
      const needed = packages.flatMap(folder => [`${folder}/tsconfig.json`, `${folder}/src`]);
      const kept = ['.env', '.git', '.local/settings.json', 'node_modules', 'apps/billing/dist', 'apps/billing/.env'];
      const sources = copied(texts.dockerfile);
      return [
        ...sources.filter(file => !exists(file)).map(file => `${file} does not exist`),
        ...only(manifests, sources).map(file => `${file} is not copied`),
        ...[...sources, ...needed]
          .filter(file => isIgnored(texts.dockerignore, file))
          .map(file => `${file} is ignored`),
        ...kept.filter(file => !isIgnored(texts.dockerignore, file)).map(file => `${file} reaches the build`),
      ];
    },
    planted: [
      ['dockerfile', 'COPY libs/kernel/package.json libs/kernel/\n', ''],
      ['dockerfile', 'COPY turbo.json', 'COPY nx.json'],
      ['dockerignore', '!libs\n', ''],
      ['dockerignore', '**/.env*', ''],
      ['dockerignore', '*\n!package.json', '!package.json'],
    ],
  },
  'no install script is run, the lock is kept to, and the image has what runs in production alone': {
    find(texts) {
      const lines = instructions(texts.dockerfile);
      const installs = lines.filter(line => /\bnpm\b/.test(line));
      return [
        ...installs.flatMap(line => unless(/npm install --no-save --ignore-scripts /.test(line), line)),
        ...unless(installs.at(-1)?.includes(' --omit=dev '), 'the image has development dependencies'),
        ...unless(lastStage(lines).includes('COPY --from=production /recur /recur'), 'the image has other packages'),
        ...lines.filter(line => /^(ARG|ENV) .*(SECRET|PASSWORD|TOKEN)/.test(line)),
      ];
    },
    planted: [
      ['dockerfile', '--no-save --ignore-scripts', '--no-save'],
      ['dockerfile', '--omit=dev', '--include=dev'],
      ['dockerfile', 'COPY --from=production /recur', 'COPY --from=build /recur'],
      ['dockerfile', 'ENV NODE_ENV', 'ENV NPM_TOKEN=x NODE_ENV'],
    ],
  },
  'an image runs the main.js of one app, as process 1 and an ordinary user, and is asked whether it lives': {
    find(texts) {
      const last = lastStage(instructions(texts.dockerfile));
      const asks = last.some(line =>
        /^HEALTHCHECK .*CMD \["node", "\/recur\/deploy\/healthy.mjs", "\/livez"\]$/.test(line),
      );
      return [
        ...unless(last.includes('WORKDIR /recur/apps/$APP'), 'it does not run in the folder of its app'),
        ...unless(last.includes(entrypoint), 'node is not process 1'),
        ...unless(last.findLast(line => line.startsWith('USER ')) === 'USER node', 'it runs as root'),
        ...unless(last.includes('COPY deploy/healthy.mjs /recur/deploy/') && asks, 'nobody asks whether it lives'),
        ...apps
          .filter(app => app !== 'apps/portal' && !exists(`${app}/src/main.ts`))
          .map(app => `${app} has no main.ts`),
      ];
    },
    planted: [
      ['dockerfile', 'WORKDIR /recur/apps/$APP', 'WORKDIR /recur'],
      ['dockerfile', entrypoint, 'ENTRYPOINT npm start'],
      ['dockerfile', '"--min-semi-space-size=16", ', ''],
      ['dockerfile', '=32', '=1'],
      ['dockerfile', 'USER node', 'USER root'],
      ['dockerfile', '"/livez"]', '"/live"]'],
    ],
  },
  'the image has the manual that the gateway shows': {
    find({ dockerfile, dockerignore }) {
      const inImage = copied(lastStage(instructions(dockerfile)).join('\n'));
      const shown = ['docs', 'README.md', 'CHANGELOG.md', 'libs/client/README.md'];
      const pages = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(at => `docs/${at}`);
      return [
        ...only(shown, inImage).map(file => `${file} is not in it`),
        ...[...shown, ...pages].filter(file => isIgnored(dockerignore, file)).map(file => `${file} is ignored`),
      ];
    },
    planted: [
      ['dockerfile', 'COPY docs /recur/docs\n', ''],
      ['dockerignore', '!docs\n', ''],
      ['dockerignore', '!CHANGELOG.md\n', ''],
    ],
  },
};

describe('an image', () => {
  it.each(Object.entries(guards))('%s', (_, guard) => {
    expect(guard.find(files)).toEqual([]);
    expect(unnoticed(guard, files)).toEqual([]);
  });
});

describe('deploy/healthy.mjs', () => {
  const ask = async (port: number, page: string) => {
    const script = path.join(root, 'deploy/healthy.mjs');
    const child = spawn(process.execPath, [script, page], { env: { OPS_PORT: String(port) }, stdio: 'ignore' });
    const [code] = await once(child, 'exit');
    return code;
  };

  it('tells a container that answers 200 from one that answers something else, or nothing', async () => {
    const server = createServer((request, response) => response.writeHead(request.url === '/readyz' ? 200 : 503).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const taken = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await Promise.all([ask(taken, '/readyz'), ask(taken, '/livez')])).toEqual([0, 1]);
    await once(server.close(), 'close');
    expect(await ask(taken, '/readyz')).toBe(1);
  });
});
