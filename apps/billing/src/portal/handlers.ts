import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';

/** The handlers of the merchant's operations, whose work the hosted pages call: Nest injects no controller into another. */
@Injectable()
export class Handlers {
  constructor(private readonly modules: ModuleRef) {}

  of<T>(handler: new (...parts: never[]) => T): T {
    return this.modules.get<T>(handler, { strict: false });
  }
}
