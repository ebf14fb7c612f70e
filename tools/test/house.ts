import type { Source } from './sources.js';
import { importsOf } from './sources.js';

/** How an app's source is built, in numbers; migrations grow by themselves and are left out. */
export interface House {
  files: number;
  /** Lines of the file in the middle. */
  median: number;
  /** Files of at most 40 lines. */
  small: number;
  /** Imports between rooms of one wing that import each other in a circle. */
  upward: number;
  /** Calls by which one part of the app makes itself known to another at its start. */
  registries: number;
  /** Names that are defined at the top of more than one file. */
  shared: number;
  /** Objects and lists that are spread where they are written. */
  spreads: number;
}

const definition = /^(?:export )?(?:abstract )?(?:async )?(?:const|let|function|class|interface|type|enum) (\w+)/gm;

/** The room of a file within its wing: a folder of the wing, or a file that lies in none; empty outside of wings. */
export const innerRoom = (file: string): string[] =>
  /^((?:apps\/\w+|libs\/platform)\/src\/[\w-]+)\/([\w-]+)/.exec(file)?.slice(1, 3) ?? [];

/** Imports from one room of a wing to another, as pairs of `wing/room`. */
export function arrowsBetweenRooms(of: readonly Source[]): ReadonlyMap<string, readonly string[]> {
  const arrows = new Map<string, string[]>();
  for (const source of of) {
    const [wing, room] = innerRoom(source.file);
    if (room === undefined) continue;
    const into = importsOf(source)
      .map(innerRoom)
      .filter(([other, name]) => other === wing && name !== room);
    const from = `${wing}/${room}`;
    arrows.set(from, [...(arrows.get(from) ?? []), ...into.map(([, name]) => `${wing}/${name}`)]);
  }
  return arrows;
}

/** True if following arrows from one room leads to another. */
function leads(arrows: ReadonlyMap<string, readonly string[]>, from: string, to: string): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let room = open.pop(); room !== undefined; room = open.pop()) {
    if (room === to) return true;
    if (seen.has(room)) continue;
    seen.add(room);
    open.push(...(arrows.get(room) ?? []));
  }
  return false;
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** The numbers of a source folder. */
export function houseOf(all: readonly Source[]): House {
  const of = all.filter(({ file }) => !file.includes('/migrations/'));
  const sizes = of.map(({ text }) => text.trimEnd().split('\n').length).sort((a, b) => a - b);
  const files = new Map<string, number>();
  for (const { text } of of) {
    const names = new Set([...text.matchAll(definition)].map(([, name = '']) => name));
    for (const name of names) files.set(name, (files.get(name) ?? 0) + 1);
  }
  const arrows = arrowsBetweenRooms(of);
  return {
    files: of.length,
    median: sizes[sizes.length >> 1] ?? 0,
    small: sizes.filter(lines => lines <= 40).length,
    upward: [...arrows].flatMap(([from, into]) => into.filter(to => leads(arrows, to, from))).length,
    registries: of.reduce((sum, { text }) => sum + count(text, /^ {2}register\(/gm), 0),
    shared: [...files.values()].filter(number => number > 1).length,
    spreads: of.reduce((sum, { text }) => sum + count(text, /\.\.\.[[{]/g), 0),
  };
}
