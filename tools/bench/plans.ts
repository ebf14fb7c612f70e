import { createClient, orThrow } from '@recur/client';
import { newPlan } from '../journeys/shop.js';
import { fillCatalog } from './fill.js';
import type { Bench } from './measure.js';
import { slowest } from './sizes.js';

const count = 100_000;

/** Every filter of plan/list, with a value that many plans have and, if possible, one that few have. */
const filters: Record<string, string> = {
  none: '',
  'one product': 'productIds=1000000001',
  'the default product': 'productIds=0',
  'type main': 'type=1',
  'type add-on': 'type=2',
  'status editing': 'status=1',
  'three states': 'status=1,4,5',
  published: 'publishStatus=2',
  'currency USD': 'currency=USD',
  'currency EUR': 'currency=EUR',
  'in weeks': 'intervalUnits=week',
  'a count': 'intervalCounts=12',
  'half a year or more': 'billingIntervalMin=6month',
  'several at once': 'type=1,2&status=1,2&intervalUnits=day,month,year&currency=EUR',
};
const orders: Record<string, string> = {
  newest: '',
  'by name': 'sortField=planName&sortType=asc',
  'by amount': 'sortField=amount',
};
/** First pages, of searches and sorted filters too. */
const found: Record<string, string> = {
  'none, first page': '',
  'status editing by name, first page': 'status=1&sortField=planName',
  planIds: 'planIds=1000000001,1000050000,1000099999',
  'searchKey, a name': 'searchKey=Plan%20777',
  'searchKey, an id': 'searchKey=1000050000',
  'searchKey, sorted': 'searchKey=Plan%20777&sortField=planName',
};

/** plan/list with each filter in each order, and product/list, for a merchant with 100 000 of each: the slowest p99. */
export async function catalogTimes(bench: Bench): Promise<void> {
  const { baseUrl, apiKey, merchantId, services } = bench.stack.facts();
  bench.tell('  · filling up to 100 000 plans and products …');
  const api = createClient({ baseUrl, credential: apiKey });
  orThrow(await api.post('/merchant/product/new', { productName: 'Filled' }));
  await newPlan(api);
  await fillCatalog(services.postgres.url, Number(merchantId), count);
  const what = 'the slowest p99 of every filter and order at 100 000';
  if (bench.wants('plan_list')) bench.add('plan_list', await slowest(bench.stack, planQueries, bench.tell), what);
  if (bench.wants('product_list')) {
    bench.add('product_list', await slowest(bench.stack, productQueries, bench.tell), what);
  }
}

/** The last page that may be requested: all rows before it are read, more than for any other page. */
const lastPage = (of: string, name: string, query: readonly string[]) =>
  [name, `/merchant/${of}/list?${[...query, 'page=499'].join('&')}`] as const;

const planQueries = [
  ...Object.entries(filters).flatMap(([filter, query]) =>
    Object.entries(orders).map(([order, sort]) => lastPage('plan', `${filter}, ${order}`, [query, sort])),
  ),
  ...Object.entries(found).map(([name, query]) => [name, `/merchant/plan/list?${query}`] as const),
];
const productQueries = ['', 'status=1', 'status=2', 'status=1,2'].flatMap(status =>
  ['', 'sortField=productName'].map(sort => lastPage('product', `products ${status} ${sort}`, [status, sort])),
);
