import { createClient } from '@recur/client';

const recur = createClient({ baseUrl: process.env.RECUR_URL ?? '', credential: () => process.env.RECUR_KEY });

/** The user who is signed in, as your sign-in knows them: never from the form, and with an e-mail that was verified. */
const signedIn = (request: Request) => request.headers.get('x-user');

/** Takes the form of a pricing page: the plan. */
export async function POST(request: Request): Promise<Response> {
  const email = signedIn(request);
  if (!email) return new Response(null, { status: 401 });
  const form = await request.formData();
  // the address that browsers know: behind a proxy, request.url has another one
  const shop = process.env.SHOP_URL;
  const urls = { returnUrl: `${shop}/welcome`, cancelUrl: `${shop}/pricing` };
  const sold = await recur.attach({ user: { email }, plan: Number(form.get('plan')), ...urls });
  if (sold.is === 'refused' || sold.is === 'unknown')
    return Response.json({ error: sold.error.message }, { status: 409 });
  return Response.redirect(sold.is === 'page' ? sold.url : urls.returnUrl, 303);
}
