import { Controller, Inject } from '@nestjs/common';
import { getMerchant, type In, updateMerchant } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle } from '@recur/platform';
import type { Config } from '../config.js';
import { currencyRules, gateways } from '../copies/tables.js';
import { countryAfter } from '../domain/country.js';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import { allRoles } from '../members/roles.js';
import { members } from '../members/tables.js';
import { roleView } from '../members/views.js';
import { deploymentKind, supportedCurrencies, supportedTimeZones } from '../system.js';
import { merchantAggregate } from './aggregates.js';
import { apiKeys, type Merchant, merchants } from './tables.js';
import { merchantView } from './views.js';

const gatewaysShown = 100;

/** The merchant's own settings and company details. */
@Controller()
export class MerchantProfile {
  constructor(
    private readonly db: Db,
    private readonly sessions: MemberSessions,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(getMerchant)
  get(_input: In<typeof getMerchant>, caller: Caller) {
    const { actor, session } = caller;
    const asking = actor.kind === 'member' ? { id: Number(actor.id) } : { isOwner: true };
    return this.db.read(caller, async reader => {
      const [merchant, roles, member, known, [key], rules] = await Promise.all([
        reader.get(merchants, {}, 'permission_denied'),
        allRoles(reader),
        reader.find(members, asking),
        reader.all(gateways, { archived: false }, `order by id limit ${gatewaysShown}`),
        reader.all(apiKeys, { revokedTime: 0 }, 'order by id desc limit 1'),
        reader.find(currencyRules, {}),
      ]);
      const [merchantMember = null] = member ? await this.sessions.views(reader, [member], session) : [];
      return {
        ...empty,
        Currency: supportedCurrencies,
        TimeZone: supportedTimeZones,
        MemberRoles: roles.map(roleView),
        defaultCurrency: merchant.profile.defaultCurrency ?? '',
        ...deploymentKind(this.config),
        gateways: known.map(({ data }) => data),
        isOwner: merchantMember?.isOwner ?? false,
        merchant: merchantView(merchant),
        merchantMember,
        multiCurrencyConfigs: rules?.sets ?? [],
        openApiHost: this.config.BASE_URL,
        openApiKey: key?.hint ?? '',
      };
    });
  }

  @Handle(updateMerchant)
  update(edit: In<typeof updateMerchant>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const merchant = await tx.lock(merchantAggregate, {}, 'permission_denied');
      const sent = Object.entries(edit).filter(([, value]) => value !== undefined);
      const profile = Object.fromEntries(
        Object.entries({
          ...merchant.profile,
          ...Object.fromEntries(sent),
          ...countryAfter(merchant.profile, edit),
        }).filter(([, value]) => value !== '' && value !== undefined),
      );
      assertUpwards(merchant, edit);
      const next = { ...merchant, profile };
      const isSame = sent.every(([field, value]) => value === (merchant.profile[field as keyof typeof edit] ?? ''));
      if (isSame) return { merchant: merchantView(merchant) };
      tx.step(merchantAggregate, next, 'merchant.updated', { log: 'Update' });
      return { merchant: merchantView(next) };
    });
  }
}

/** Document numbers only go upwards. Billing, which counts them, skips a number that it has given already. */
function assertUpwards({ profile }: Merchant, edit: In<typeof updateMerchant>): void {
  for (const field of ['nextInvoiceNumber', 'nextCreditNoteNumber'] as const) {
    const [last, next] = [profile[field] ?? 0, edit[field]];
    if (next !== undefined && next < last)
      throw invalid(`/${field}`, `is ${next}: it was ${last}, and only goes upwards`);
  }
}

/** Settings that have no operation yet. */
const empty = {
  cname: '',
  cnameDomain: '',
  defaultEmailGateway: '',
  emailGateways: {},
  emailSender: null,
  globalTOPTEnabled: false,
  globalUSVATConfig: null,
};
