import { execFile } from 'node:child_process';

/** The document of a running stack, in a folder that a check may write to. */
export interface Subject {
  baseUrl: string;
  apiKey: string;
  /** Absolute; `file` is in it. */
  folder: string;
  file: string;
}

/** `absent`: the program is neither installed nor could it be fetched. */
export type Outcome = { kind: 'passed' | 'failed' | 'absent'; told: string };

/** A program that reads the document. */
export interface Check {
  name: string;
  run(subject: Subject): Promise<Outcome>;
}

export const passed = (told: string): Outcome => ({ kind: 'passed', told });
export const failed = (told: string): Outcome => ({ kind: 'failed', told });
export const absent = (told: string): Outcome => ({ kind: 'absent', told });

const limits = { timeoutMs: 300_000, outputBytes: 50_000_000 } as const;
/** Programs that are fetched neither report their use nor look for a newer version of themselves. */
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', PIP_DISABLE_PIP_VERSION_CHECK: '1' };

/** Runs a program to its end; it may be missing. Output is that of both streams. */
export function ran(command: string, args: readonly string[], cwd: string): Promise<{ ok: boolean; output: string }> {
  const options = {
    cwd,
    env: { ...process.env, ...quiet },
    timeout: limits.timeoutMs,
    maxBuffer: limits.outputBytes,
  };
  return new Promise(resolve => {
    execFile(command, [...args], options, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim();
      resolve({ ok: error === null, output: output || (error?.message ?? '') });
    });
  });
}

/** A program of an npm package, which npx fetches unless it is in its cache. Undefined if that fails. */
export async function npxProgram(spec: string, program: string, cwd: string) {
  const before = ['--yes', '--package', spec, '--', program];
  const { ok } = await ran('npx', [...before, '--version'], cwd);
  return ok ? (args: readonly string[]) => ran('npx', [...before, ...args], cwd) : undefined;
}
