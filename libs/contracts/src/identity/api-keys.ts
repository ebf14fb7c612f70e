import { z } from 'zod';
import { Empty, text, time } from '../field.js';
import { operation } from '../operation.js';

export const newApiKey = operation({
  service: 'identity',
  name: 'apikey.new',
  methods: ['POST'],
  path: '/merchant/new_apikey',
  summary: 'Make a new API key, shown this once; those before it hold for 24 hours more',
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
  summary: "The merchant's API keys, newest first; of a great many, the newest thousand",
  effect: 'read',
  permission: 'admin.read',
  input: z.object({}),
  output: z.object({
    apiKeys: z.array(
      z.object({
        id: z.int(),
        hint: text.describe('As the operation log shows it'),
        createTime: time,
        revokedTime: time.describe('When it ended or will, on the clock of the machine; 0: it holds until it is ended'),
        state: z.enum(['active', 'ending', 'revoked']),
      }),
    ),
  }),
  errors: [],
});

export const revokeApiKey = operation({
  service: 'identity',
  name: 'apikey.revoke',
  methods: ['POST'],
  path: '/merchant/apikey/revoke',
  summary: 'End an API key at once; ending it again changes nothing',
  effect: 'write',
  permission: 'admin.write',
  input: z.object({ apiKeyId: z.int() }),
  output: Empty,
  errors: ['api_key_not_found', 'own_api_key'],
});
