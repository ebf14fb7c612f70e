import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Rejected } from '@recur/kernel';
import type { Caller } from '@recur/platform';

/** The id of the calling user; the gateway admits no other caller to operations of the hosted pages. */
export function callingUser({ actor }: Caller): number {
  if (actor.kind !== 'user') throw new Rejected('permission_denied');
  return Number(actor.id);
}

/** The handlers of the merchant's operations, whose work the hosted pages call: Nest injects no controller into another. */
@Injectable()
export class Handlers {
  constructor(private readonly modules: ModuleRef) {}

  of<T>(handler: new (...parts: never[]) => T): T {
    return this.modules.get<T>(handler, { strict: false });
  }
}
