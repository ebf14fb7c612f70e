import { Controller, Inject, type Type } from '@nestjs/common';
import { type In, type Service, snapshotOperations } from '@recur/contracts';
import { SnapshotSource } from '../events/copies.js';
import type { Caller } from '../runtime/caller.js';
import { Handle } from './handle.js';

/** The controller of the questions that every service answers about its aggregates. */
export function snapshotController(service: Service): Type {
  const { state, snapshot, events } = snapshotOperations(service);

  @Controller()
  class Snapshots {
    constructor(@Inject(SnapshotSource) private readonly source: SnapshotSource) {}

    @Handle(state)
    state(input: In<typeof state>, caller: Caller) {
      return this.source.state(input, caller);
    }

    @Handle(snapshot)
    snapshot(input: In<typeof snapshot>, caller: Caller) {
      return this.source.snapshot(input, caller);
    }

    @Handle(events)
    events(input: In<typeof events>, caller: Caller) {
      return this.source.events(input, caller);
    }
  }
  return Snapshots;
}
