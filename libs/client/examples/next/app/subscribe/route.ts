import { createClient } from '@recur/client';

const recur = createClient({ baseUrl: process.env.RECUR_URL ?? '', credential: () => process.env.RECUR_KEY });

/** Takes the form of a pricing page: the plan, and the e-mail of who is signed in. */
export async function POST(request: Request): Promise<Response> {
  const form = await request.formData();
  const { origin } = new URL(request.url);
  const sold = await recur.attach({
    user: { email: String(form.get('email')) },
    plan: Number(form.get('plan')),
    returnUrl: `${origin}/welcome`,
    cancelUrl: `${origin}/pricing`,
  });
  if (sold.is === 'refused' || sold.is === 'unknown')
    return Response.json({ error: sold.error.message }, { status: 409 });
  return Response.redirect(sold.is === 'page' ? sold.url : `${origin}/welcome`, 303);
}
