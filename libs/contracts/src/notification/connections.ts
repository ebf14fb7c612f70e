import { z } from 'zod';
import { connectionStatus } from '../codes.js';
import { code, Empty, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const automationConnection = z.object({
  connectionId: text.describe("The platform's client_id"),
  status: code(connectionStatus),
  returnUrl: text,
  createTime: time,
  expireTime: time.describe('Until then it is to be allowed and taken up; 0: it stands until it is disconnected'),
});
/** An automation platform that may manage webhook endpoints of its own, or has been asked to. */
export interface AutomationConnection extends z.output<typeof automationConnection> {}
export const AutomationConnection: Shape<AutomationConnection> = automationConnection.meta({
  id: 'AutomationConnection',
});

export const automationOauthUrl = operation({
  service: 'notification',
  name: 'webhook.automation_oauth_url',
  methods: ['POST'],
  path: '/merchant/webhook/webhook_automation_oauth_url',
  summary: 'The URL at which an automation platform is allowed to manage its own webhook endpoints',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    returnUrl: input.optionalUrl
      .optional()
      .describe('Where the platform receives the authorization code; blank: a page of recur shows it'),
  }),
  output: z.object({
    oauthUrl: text.describe('The platform adds code_challenge and code_challenge_method=S256; it holds for an hour'),
  }),
  errors: ['too_many_connections'],
  secretOutput: true,
});

export const disconnectAutomation = operation({
  service: 'notification',
  name: 'webhook.automation_disconnect',
  methods: ['POST'],
  path: '/merchant/webhook/automation_disconnect',
  summary: 'End an automation connection: its tokens hold no longer, and its endpoints are deleted',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ connectionId: input.filled }),
  output: Empty,
  errors: ['connection_not_found'],
});
