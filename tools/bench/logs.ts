import type { TemporaryStack } from '../local/temporary.js';
import type { Measure } from './measure.js';
import { slowest } from './sizes.js';

/** Every filter of operation_log_list, with values that few and that many entries have. See `logEntries` in fill.ts. */
const filters: Record<string, string> = {
  none: '',
  'last page': 'page=499',
  'last page of 100': 'page=99&count=100',
  'memberEmail, one of 40': 'memberEmail=member7@',
  'memberEmail, all': 'memberEmail=member',
  'memberEmail, all, last page': 'memberEmail=member&page=499',
  'memberFirstName, ten': 'memberFirstName=ring3',
  'memberFirstName, ten, last page': 'memberFirstName=ring3&page=499',
  'memberLastName, the busiest': 'memberLastName=busy',
  'memberLastName, last page': 'memberLastName=busy&page=499',
  'memberLastName, nobody': 'memberLastName=nobody',
  'email, one of 5000': 'email=user77@',
  'firstName, of 41 users': 'firstName=first97',
  'firstName, last page': 'firstName=first97&page=200',
  'lastName, of 500 users': 'lastName=last5',
  'lastName, last page': 'lastName=last5&page=499',
  'lastName, of all users': 'lastName=last',
  'lastName, of all, last page': 'lastName=last&page=499',
  'member and user': 'memberFirstName=ring3&lastName=last5',
  'member and user, last page': 'memberFirstName=ring3&lastName=last5&page=200',
  planId: 'planId=3',
  'planId, last page': 'planId=3&page=499',
  invoiceId: 'invoiceId=in_5000',
  subscriptionId: 'subscriptionId=sub_500',
  discountCode: 'discountCode=TEN',
  'discountCode, last page': 'discountCode=TEN&page=499',
  'user and plan': 'lastName=last5&planId=3',
};

/** p99 of each filter of operation_log_list; the measure is the slowest. */
export function logTimes(stack: TemporaryStack, tell: (line: string) => void): Promise<Measure> {
  const queries = Object.entries(filters).map(
    ([name, query]) => [name, `/merchant/member/operation_log_list?${query}`] as const,
  );
  return slowest(stack, queries, tell);
}
