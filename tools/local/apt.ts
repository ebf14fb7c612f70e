import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Failure } from './failure.js';

const limits = { commandMs: 300_000, output: 1 << 26 } as const;

/** Installs packages as root; a machine that never read its package lists reads them first. */
export function installWithApt(packages: readonly string[], log: string): void {
  // Another checkout or the system itself may be installing at this moment: wait for it, within bounds.
  const install = ['install', '--yes', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', ...packages];
  if (apt(install, log).ok) return;
  apt(['update'], log);
  const second = apt(install, log);
  if (!second.ok) throw aptFailure(packages.join(' and '), log, second.output);
}

interface Unpacked {
  executable: string;
  libraries: string[];
}

/**
 * Downloads a package and whatever it depends on that the machine lacks, and unpacks it all into `folder` without
 * installing anything: apt itself works out which packages (and so which shared libraries) are missing.
 */
export function unpackWithApt(
  name: string,
  executables: readonly string[],
  folder: string,
  log: string,
): Unpacked | undefined {
  const unfinished = `${folder}.unfinished`;
  const downloads = path.join(unfinished, 'downloads');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(downloads, { recursive: true });
  // First with the lists the machine has; then with lists of our own, since only root may refresh the machine's.
  if (!download(name, downloads, [], log)) {
    const own = ownLists(path.join(path.dirname(folder), 'apt'));
    apt([...own, 'update'], log);
    if (!download(name, downloads, own, log)) throw aptFailure(name, log, '');
  }
  for (const file of readdirSync(downloads)) {
    const { status } = spawnSync('dpkg-deb', ['--extract', path.join(downloads, file), unfinished], {
      stdio: 'ignore',
    });
    if (status !== 0) throw new Failure(`${file} could not be unpacked into ${unfinished}: is the disk full?`, 69);
  }
  rmSync(downloads, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
  renameSync(unfinished, folder);
  const executable = binaryFolders(folder)
    .flatMap(bin => executables.map(file => path.join(bin, file)))
    .find(existsSync);
  return executable === undefined ? undefined : { executable, libraries: libraryFolders(folder) };
}

function download(name: string, into: string, options: readonly string[], log: string): boolean {
  const plan = apt([...options, '--simulate', 'install', '--no-install-recommends', name], log);
  const packages = plannedPackages(plan.output);
  if (!plan.ok || packages.length === 0) return false;
  return apt([...options, 'download', ...packages], log, into).ok;
}

/** `name=version` of every package that a simulated installation would add. */
export function plannedPackages(simulation: string): string[] {
  return [...simulation.matchAll(/^Inst (\S+) (?:\[\S+\] )?\((\S+) /gm)].map(
    ([, name, version]) => `${name}=${version}`,
  );
}

function ownLists(folder: string): string[] {
  for (const part of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(path.join(folder, part), { recursive: true });
  return ['-o', `Dir::State::Lists=${folder}/lists`, '-o', `Dir::Cache=${folder}/cache`, '-o', 'Debug::NoLocking=1'];
}

/** A versioned folder holds the real program where usr/bin holds a script that looks for an installed one. */
function binaryFolders(folder: string): string[] {
  const versions = path.join(folder, 'usr/lib/postgresql');
  const versioned = existsSync(versions)
    ? readdirSync(versions).map(version => path.join(versions, version, 'bin'))
    : [];
  return [...versioned, ...['usr/sbin', 'usr/bin', 'bin', 'sbin'].map(bin => path.join(folder, bin))];
}

function libraryFolders(folder: string): string[] {
  return ['usr/lib', 'lib']
    .map(lib => path.join(folder, lib))
    .filter(existsSync)
    .flatMap(lib => [
      lib,
      ...readdirSync(lib)
        .filter(isTriplet)
        .map(triplet => path.join(lib, triplet)),
    ]);
}

const isTriplet = (name: string) => /-linux-/.test(name);

function apt(args: readonly string[], log: string, cwd?: string): { ok: boolean; output: string } {
  // Plain C messages, because the plan of a simulation is read.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  const options = { cwd, env, encoding: 'utf8', timeout: limits.commandMs, maxBuffer: limits.output } as const;
  const { status, stdout, stderr } = spawnSync('apt-get', args, options);
  appendFileSync(log, `$ apt-get ${args.join(' ')}\n${stdout ?? ''}${stderr ?? ''}\n`);
  return { ok: status === 0, output: `${stdout ?? ''}${stderr ?? ''}` };
}

function aptFailure(what: string, log: string, output: string): Failure {
  const reason = output.split('\n').find(line => line.startsWith('E: '));
  const said = reason === undefined ? '' : `: ${reason.slice(3)}`;
  return new Failure(`apt-get could not fetch ${what}${said} (all of its output is in ${log}).`, 69);
}
