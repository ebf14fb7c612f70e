import { z } from 'zod';
import { flag, text } from '../field.js';
import { anyMember, operation } from '../operation.js';
import { CurrencyInfo } from './merchants.js';

export const systemInformation = operation({
  service: 'identity',
  name: 'system.information',
  methods: ['GET'],
  path: '/system/information/get',
  summary: 'The kind of deployment, and the time zones and currencies it supports',
  effect: 'read',
  permission: anyMember,
  input: z.object({}),
  output: z.object({
    env: text.describe('production or sandbox'),
    isProd: flag,
    supportTimeZone: z.array(text).describe('Names of the IANA database'),
    supportCurrency: z.array(CurrencyInfo),
  }),
  errors: [],
});
