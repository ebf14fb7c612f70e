import { Controller } from '@nestjs/common';
import { callersSnapshot, type In, reportActivity } from '@recur/contracts';
import { Handle } from '@recur/platform';
import { SessionActivity } from '../member-sessions/session-activity.js';
import { CallerSnapshots } from './snapshots.js';

/** The internal operations of gateways: they learn who may call, and report which sessions were used. */
@Controller()
export class GatewayQuestions {
  constructor(
    private readonly snapshots: CallerSnapshots,
    private readonly activity: SessionActivity,
  ) {}

  @Handle(callersSnapshot)
  snapshot(input: In<typeof callersSnapshot>) {
    return this.snapshots.page(input);
  }

  @Handle(reportActivity)
  report(input: In<typeof reportActivity>) {
    return this.activity.record(input);
  }
}
