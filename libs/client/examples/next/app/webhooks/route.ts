import { webhookReceiver } from '@recur/client';

const receive = webhookReceiver({
  // read when a delivery comes: a build has no secrets
  secrets: () => (process.env.RECUR_WEBHOOK_SECRETS ?? '').split(' '),
  on: {
    'invoice.paid': ({ data }) => console.log(`Invoice ${data.number} is paid`),
    default: ({ type }) => console.log(type),
  },
});

/** The webhook endpoint. */
export async function POST(request: Request): Promise<Response> {
  const receipt = await receive({ body: await request.text(), headers: request.headers });
  if (receipt.outcome === 'failed') console.error(receipt.error);
  return new Response(null, { status: receipt.status });
}
