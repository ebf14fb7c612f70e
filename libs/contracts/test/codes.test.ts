import { describe, expect, it } from '@jest/globals';
import { currencies, exponentOf } from '../src/catalog/currencies.js';
import * as codes from '../src/codes.js';

/** Codes fixed by existing integrations, copied by hand so that renumbering one by mistake fails. */
const fixed: Record<string, string> = {
  productStatus: '1 active · 2 inactive',
  planStatus: '1 editing · 2 active · 4 softArchived · 5 hardArchived',
  publishStatus: '1 unpublished · 2 published',
  planType: '1 main · 2 recurringAddon · 3 onetimeAddon',
  intervalUnits: '365 day · 52 week · 12 month · 1 year',
  noYes: '0 no · 1 yes',
  subscriptionStatus:
    '0 init · 1 pending · 2 active · 4 cancelled · 5 expired · 7 incomplete · 8 processing · 9 failed',
  subscriptionTimelineStatus: '0 pending · 1 processing · 2 finished · 3 cancelled · 4 expired · 5 failed',
  onetimeAddonStatus: '1 created · 2 paid · 3 cancelled · 4 expired',
  pendingUpdateStatus: '0 init · 1 pending · 2 finished · 3 cancelled',
  pendingUpdateEffect: '0 periodEnd · 1 now',
  invoiceStatus: '0 init · 1 pending · 2 processing · 3 paid · 4 failed · 5 cancelled · 6 reversed',
  sendStatus: '0 unsent · 1 sent · 2 unnecessary',
  bizType: '1 onetime · 2 manualInvoice · 3 subscription · 4 creditRecharge',
  createFrom: 'Admin admin · AutoRenew autoRenew · Api api',
  snapshotChargeType: '0 onetime · 1 new · 2 upgrade · 3 downgrade · 4 renewal · 5 billingCycle',
  paymentStatus: '10 created · 20 success · 30 failed · 40 cancelled',
  authorizeStatus: '0 waiting · 1 authorised · 2 captureRequested',
  timelineType: '0 payment · 1 refund',
  timelineStatus: '0 pending · 1 success · 2 failed · 3 reversed',
  refundStatus: '10 created · 20 success · 30 failed · 40 cancelled · 50 reversed',
  metricType: '1 limitMetered · 2 chargeMetered · 3 chargeRecurring · 4 limitRecurring',
  aggregationType: '1 count · 2 countUnique · 3 latest · 4 max · 5 sum',
  metricChargeType: '0 standard · 1 graduated',
  discountStatus: '1 editable · 2 active · 3 deactivated · 4 expired · 10 archived',
  discountKind: '1 code · 2 template · 3 generated',
  discountBillingType: '1 onetime · 2 recurring',
  discountType: '1 percentage · 2 fixedAmount',
  discountUserScope: '0 all · 1 newUsers · 2 renewalsOnly',
  discountPlanApplyType: '0 all · 1 listed · 2 allButListed · 3 groups · 4 allButGroups',
  creditAccountType: '1 main · 2 promo',
  creditTransactionType:
    '1 recharge · 2 payout · 3 refund · 4 withdraw · 5 withdrawFailed · 6 adminChange · 7 rechargeRefunded',
  gatewayType: '1 card · 2 crypto · 3 wireTransfer · 4 paypal · 5 credit · 6 alipayPlus · 8 external',
  userStatus: '0 active · 2 suspended',
  userType: '1 individual · 2 business',
  userBillingType: '1 recurring · 2 onetime',
  memberStatus: '0 active · 2 suspended',
  totpType: '0 off · 1 general · 2 microsoft · 3 authy · 4 onePassword · 5 lastPass · 6 freeOtp · 7 other',
  optAccountType: '0 member · 1 user · 2 openApi · 3 system',
  userDiscountStatus: '1 used · 2 rolledBack',
  creditRechargeStatus: '10 created · 20 success · 30 failed',
  emailStatus: '0 pending · 1 sent · 2 failed',
  endpointStatus: '1 active · 2 disabled',
  addonsAction: '0 override · 1 add · 2 remove',
  endpointType: '0 own · 1 automation',
  replayStatus: '1 running · 2 finished · 3 cancelled · 4 stopped',
  chargeStatus: '0 open · 1 charged',
  taskType: '0 download · 1 upload',
  taskStatus: '0 queued · 1 running · 2 done · 3 failed',
  connectionStatus: '1 requested · 2 allowed · 3 connected',
};

describe('codes', () => {
  it('are the fixed ones', () => {
    const tables = Object.entries(codes).filter(([, table]) => typeof table === 'object' && !Array.isArray(table));
    const written = tables.map(([name, table]) => [
      name,
      Object.entries(table)
        .map(([key, value]) => `${value} ${key}`)
        .sort()
        .join(' · '),
    ]);
    const sorted = Object.entries(fixed).map(([name, line]) => [name, line.split(' · ').sort().join(' · ')]);
    expect(Object.fromEntries(written)).toEqual(Object.fromEntries(sorted));
  });

  it('of texts are fixed too', () => {
    expect([codes.gasPayers, codes.trialDemands, codes.quotaTypes]).toEqual([
      ['merchant', 'user'],
      ['', 'paymentMethod'],
      ['carryover', 'manual'],
    ]);
  });
});

describe('currencies', () => {
  it('have the exponents of ISO 4217', () => {
    expect(['JPY', 'KRW', 'VND', 'USD', 'EUR', 'BHD', 'KWD', 'JOD', 'OMR', 'TND', 'CLF'].map(exponentOf)).toEqual([
      0, 0, 0, 2, 2, 3, 3, 3, 3, 3, 4,
    ]);
  });

  it('are three letters each, none twice', () => {
    const codes = [...currencies.keys()];
    expect(codes.filter(code => !/^[A-Z]{3}$/.test(code))).toEqual([]);
    expect(codes.length).toBeGreaterThan(160);
  });

  it('refuse an unknown code', () => {
    expect(() => exponentOf('usd')).toThrow('usd is not an active ISO 4217 currency');
  });
});
