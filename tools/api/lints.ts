import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { absent, type Check, failed, npxProgram, passed, ran } from './check.js';

interface Lint {
  name: string;
  spec: string;
  /** The file of its settings, which asks for the rules that its makers recommend. */
  settings: [file: string, text: string];
  args: readonly string[];
  /** Output of a run without a finding, warnings included. */
  clean: RegExp;
}

const fromNpm = ({ name, spec, settings: [settings, text], args, clean }: Lint): Check => ({
  name,
  async run({ folder, file }) {
    writeFileSync(path.join(folder, settings), text);
    const run = await npxProgram(spec, name, folder);
    if (run === undefined) return absent(`npx could not fetch ${spec}`);
    const { ok, output } = await run(['lint', file, ...args]);
    return ok && clean.test(output) ? passed(`${spec}: no error and no warning`) : failed(output);
  },
});

const redocly = fromNpm({
  name: 'redocly',
  spec: '@redocly/cli@2.77.0',
  settings: ['redocly.yaml', 'extends: [recommended]\n'],
  args: ['--format=json'],
  clean: /"totals": \{\s*"errors": 0,\s*"warnings": 0\b/,
});
const spectral = fromNpm({
  name: 'spectral',
  spec: '@stoplight/spectral-cli@6.16.3',
  settings: ['.spectral.yaml', 'extends: ["spectral:oas"]\n'],
  args: ['--fail-severity=hint'],
  clean: /No results with a severity of 'hint' or higher found/,
});

const validator: Check = {
  name: 'openapi-spec-validator',
  async run({ folder, file }) {
    const { ok } = await ran('openapi-spec-validator', ['--help'], folder);
    if (!ok) return absent('not found: "pip install openapi-spec-validator"');
    const { ok: isValid, output } = await ran('openapi-spec-validator', [file], folder);
    return isValid ? passed('the document is valid') : failed(output);
  },
};

export const lints: readonly Check[] = [redocly, spectral, validator];
