import { describe, expect, it } from '@jest/globals';
import { readAddress } from '../src/address.js';

const read = (url: string) => {
  const { pathname, search } = new URL(url, 'https://pay.example.com');
  return readAddress('/portal/', pathname, search);
};

const filled = { quantity: 1, discountCode: '' };

describe('an address', () => {
  it.each([
    ['/portal/session/cs_1', { page: 'session', clientSession: 'cs_1', shown: '/portal/' }],
    [
      '/portal/checkout?planId=7&env=production&session=cs_2',
      { page: 'checkout', planId: 7, checkoutId: 0, filled, clientSession: 'cs_2', shown: '/portal/checkout?planId=7' },
    ],
    [
      '/portal/checkout?planId=7&env=production&checkoutId=3',
      {
        page: 'checkout',
        planId: 7,
        checkoutId: 3,
        filled,
        clientSession: '',
        shown: '/portal/checkout?planId=7&checkoutId=3',
      },
    ],
    [
      '/portal/checkout?planId=7&env=production&session=cs_2&quantity=3&discountCode=10%25+off',
      {
        page: 'checkout',
        planId: 7,
        checkoutId: 0,
        filled: { quantity: 3, discountCode: '10% off' },
        clientSession: 'cs_2',
        shown: '/portal/checkout?planId=7',
      },
    ],
    ['/portal/checkout?planId=7&quantity=x', { page: 'none', shown: '/portal/' }],
    ['/portal/invoice/tok-_1', { page: 'invoice', token: 'tok-_1', shown: '/portal/invoice/tok-_1' }],
    ['/portal/invoice/%', { page: 'invoice', token: '%', shown: '/portal/invoice/%' }],
    ['/portal', { page: 'none', shown: '/portal/' }],
    ['/portal/session/', { page: 'none', shown: '/portal/' }],
    ['/portal/checkout?planId=x&session=cs_3', { page: 'none', shown: '/portal/' }],
    ['/elsewhere/session/cs_4', { page: 'none', shown: '/portal/' }],
  ])('%s is understood', (url, address) => {
    expect(read(url)).toEqual(address);
  });

  it('shows no client session after it is read', () => {
    for (const url of [
      '/portal/session/secret',
      '/portal/checkout?planId=1&session=secret',
      '/portal/x?session=secret',
    ])
      expect(read(url).shown).not.toContain('secret');
  });
});
