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
  expireTime: time.describe('Deadline for approval and token exchange; 0: valid until disconnected'),
});
/** An automation platform that is authorized, or invited, to manage its own webhook endpoints. */
export interface AutomationConnection extends z.output<typeof automationConnection> {}
export const AutomationConnection: Shape<AutomationConnection> = automationConnection.meta({
  id: 'AutomationConnection',
});

export const automationOauthUrl = operation({
  service: 'notification',
  name: 'webhook.automation_oauth_url',
  methods: ['POST'],
  path: '/merchant/webhook/webhook_automation_oauth_url',
  summary: 'The URL for authorizing an automation platform to manage its own webhook endpoints',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({
    returnUrl: input.returnUrl
      .optional()
      .describe('Where the platform receives the authorization code; blank: recur shows it on a page'),
  }),
  output: z.object({
    oauthUrl: text.describe('The platform adds code_challenge and code_challenge_method=S256; valid for one hour'),
  }),
  errors: ['too_many_connections'],
  secretOutput: true,
});

export const disconnectAutomation = operation({
  service: 'notification',
  name: 'webhook.automation_disconnect',
  methods: ['POST'],
  path: '/merchant/webhook/automation_disconnect',
  summary: 'End an automation connection: its tokens are revoked and its endpoints deleted',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ connectionId: input.filled }),
  output: Empty,
  errors: ['connection_not_found'],
});
