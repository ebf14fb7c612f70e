import { z } from 'zod';
import { Empty, text, time } from '../field.js';
import { operation } from '../operation.js';

export const newApiKey = operation({
  service: 'identity',
  name: 'apikey.new',
  methods: ['POST'],
  path: '/merchant/new_apikey',
  summary: 'Create an API key, shown only once; earlier keys stay valid for 24 hours. For the owner and API keys',
  effect: 'write',
  permission: 'admin.write',
  input: z.object({}),
  output: z.object({ apiKey: text }),
  errors: ['too_many_api_keys'],
  secretOutput: true,
});

export const listApiKeys = operation({
  service: 'identity',
  name: 'apikey.list',
  methods: ['GET', 'POST'],
  path: '/merchant/apikey/list',
  summary: "The merchant's API keys, newest first, at most 1000",
  effect: 'read',
  permission: 'admin.read',
  input: z.object({}),
  output: z.object({
    apiKeys: z.array(
      z
        .object({
          id: z.int(),
          hint: text.describe('The masked key as shown in the operation log'),
          createTime: time,
          revokedTime: time.describe('When it ended or will end, in real time; 0: valid until revoked'),
          state: z.enum(['active', 'ending', 'revoked']),
        })
        .meta({ id: 'ApiKey' }),
    ),
  }),
  errors: [],
});

export const revokeApiKey = operation({
  service: 'identity',
  name: 'apikey.revoke',
  methods: ['POST'],
  path: '/merchant/apikey/revoke',
  summary: 'Revoke an API key immediately; no effect if already revoked',
  effect: 'write',
  permission: 'admin.write',
  input: z.object({ apiKeyId: z.int() }),
  output: Empty,
  errors: ['api_key_not_found', 'own_api_key'],
});
