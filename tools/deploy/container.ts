import { spawn } from 'node:child_process';
import path from 'node:path';

export interface Confined {
  /** Folder that the process sees as its root. */
  root: string;
  /** Path in it. */
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** A container that runs: its user, and the size of /tmp. Without it, a step of a build: as root, who may write. */
  limits?: { uid: number; tmp: string } | undefined;
}

/** Where node and npm are. */
const prefix = path.resolve(process.execPath, '../..');
export const PATH = [...new Set([`${prefix}/bin`, '/usr/local/bin', '/usr/bin', '/usr/sbin', '/bin'])].join(':');

/**
 * Runs what follows the first four words with its own mounts: the folder as root, and of this machine its programs and
 * libraries alone. A process with limits is an ordinary user without capabilities, and can write /tmp and nothing else.
 */
const script = `set -e
root=$1 cwd=$2 uid=$3 tmp=$4; shift 4
for name in bin sbin lib lib64; do if [ -L /$name ]; then ln -sfn usr/$name "$root/$name"; fi; done
mkdir -p "$root"/usr "$root"/etc "$root"/dev "$root"/proc "$root"/tmp "$root"/root "$root$PREFIX"
mount --bind "$root" "$root"
for name in /usr /etc "$PREFIX"; do mount --bind "$name" "$root$name"; mount -o remount,ro,bind "$root$name"; done
mount --rbind /proc "$root/proc"
mount -t tmpfs -o size=1m dev "$root/dev"
for name in null zero random urandom; do touch "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
if [ "$uid" = 0 ]; then mount --bind /root "$root/root"; exec chroot "$root" env -C "$cwd" "$@"; fi
mount -t tmpfs -o "size=$tmp,mode=1777" tmp "$root/tmp"
mount -o remount,ro "$root/dev"
mount -o remount,ro,bind "$root"
exec chroot "$root" env -C "$cwd" setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs \\
  --inh-caps=-all --bounding-set=-all -- "$@"`;

/** Starts a process in a folder as a container engine would start it in an image. Its id is that of the process itself. */
export function confined({ root, cwd, env, limits }: Confined, words: readonly string[], output: 'pipe' | number) {
  const [uid, tmp] = [String(limits?.uid ?? 0), limits?.tmp ?? '0'];
  const args = ['--mount', 'bash', '-c', script, 'bash', root, cwd, uid, tmp, ...words];
  const stdio: ('ignore' | 'pipe' | number)[] = ['ignore', output, output];
  return spawn('unshare', args, { env: { PATH, ...env, PREFIX: prefix }, stdio });
}

/** Runs it to its end. @returns what it printed; throws with that unless it exits 0. */
export async function runConfined(where: Confined, words: readonly string[]): Promise<string> {
  const child = confined(where, words, 'pipe');
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => printed.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  const text = Buffer.concat(printed).toString();
  if (code === 0) return text;
  throw new Error(`"${words.join(' ')}" ended with ${code}:\n${text.slice(-3_000)}`);
}
