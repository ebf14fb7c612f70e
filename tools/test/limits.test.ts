import path from 'node:path';
import { expect, it } from '@jest/globals';
import { type Source, sources, srcFolders } from './sources.js';

const src = srcFolders.flatMap(folder => sources(folder));
const tools = sources('tools').filter(({ file }) => !file.includes('/test/'));
const most = { files: 15, lines: 300 } as const;

/** Folders with too many source files; migrations and generated files grow by themselves. */
function crowded(of: readonly Source[]): string[] {
  const counts = new Map<string, number>();
  for (const { file } of of) counts.set(path.dirname(file), (counts.get(path.dirname(file)) ?? 0) + 1);
  return [...counts]
    .filter(([folder, count]) => count > most.files && !/\/(migrations|generated)$/.test(folder))
    .map(([folder, count]) => `${folder} has ${count} files`);
}

const long = (of: readonly Source[]): string[] =>
  of
    .map(({ file, text }) => ({ file, lines: text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > most.lines)
    .map(({ file, lines }) => `${file} has ${lines} lines`);

/** Values that a migration imports without a version: a change to them would rewrite history. A list of migrations is none. */
const unversioned = (of: readonly Source[]): string[] =>
  of
    .filter(({ file }) => /\/migrations\/\d/.test(file))
    .flatMap(({ file, text }) =>
      [...text.matchAll(/import (?!type\b)\{([^}]*)\} from '(?!typeorm'|node:)[^']*'/g)].flatMap(([, names = '']) =>
        names
          .split(',')
          .map(name => name.trim())
          .filter(name => name !== '' && !name.startsWith('type ') && !/V\d+$/.test(name))
          .map(name => `${file} imports ${name}`),
      ),
    );

const pronoun =
  /^(What|Who|Whose|Whom|Whoever|Whatever|Whichever|Whether|Those|These|It|Its|They|Nobody|Nothing|Of|One)\b/i;

/** Comments that begin with a pronoun instead of the thing they are about; the first line of each comment counts. */
function pronouns(of: readonly Source[]): string[] {
  return of.flatMap(({ file, text }) => {
    const lines = text.split('\n');
    return lines.flatMap((line, at) => {
      const own = /^\s*(?:\/\*\*?|\/\/) ?(.*)$/.exec(line);
      // only the first of several `//` lines begins a comment
      if (own === null || (/^\s*\/\//.test(line) && /^\s*\/\//.test(lines[at - 1] ?? ''))) return [];
      const words = own[1] === '' ? (lines[at + 1] ?? '').replace(/^\s*\* ?/, '') : (own[1] ?? '');
      return pronoun.test(words) ? [`${file}:${at + 1} ${words.slice(0, 60)}`] : [];
    });
  });
}

it('no folder has more than 15 source files', () => {
  const planted = Array.from({ length: 16 }, (_, at) => ({ file: `apps/x/src/${at}.ts`, text: '' }));
  expect(crowded(planted)).toEqual(['apps/x/src has 16 files']);
  expect(crowded(src)).toEqual([]);
});

it('no source file has more than 300 lines', () => {
  expect(long([{ file: 'apps/x/src/a.ts', text: 'x\n'.repeat(301) }])).toEqual(['apps/x/src/a.ts has 301 lines']);
  expect(long([...src, ...tools])).toEqual([]);
});

it('a migration imports only helpers that are frozen by a version', () => {
  const planted = {
    file: 'apps/x/src/migrations/0001-a.ts',
    text: "import { listV2, secure } from '@recur/platform';",
  };
  expect(unversioned([planted])).toEqual(['apps/x/src/migrations/0001-a.ts imports secure']);
  expect(unversioned(src)).toEqual([]);
});

it('no comment begins with a pronoun', () => {
  const planted = {
    file: 'x.ts',
    text: '/** What a plan costs. */\n// it is new\n/**\n * Whoever waits.\n */\n// a plan\n',
  };
  expect(pronouns([planted])).toHaveLength(3);
  expect(pronouns([...src, ...tools])).toEqual([]);
});
