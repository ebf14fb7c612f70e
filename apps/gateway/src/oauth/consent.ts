import { createHash } from 'node:crypto';

/** The style of every page. Pages load nothing. */
const style = `body{margin:0;font:16px/1.5 system-ui,sans-serif;color:#1b1f24;background:#f4f5f7}
main{max-width:32rem;margin:4rem auto;padding:2rem;background:#fff;border:1px solid #d0d7de;border-radius:8px}
h1{margin:0 0 1rem;font-size:1.35rem}li{margin:.25rem 0}strong,code{overflow-wrap:anywhere}
form{display:flex;flex-wrap:wrap;gap:1rem;margin-top:2rem}
button{font:inherit;padding:.6rem 1.4rem;border-radius:6px;border:1px solid #57606a;background:#fff;color:#1b1f24}
button[value=true],button[value=approve]{background:#0b5cad;border-color:#0b5cad;color:#fff}
button:focus-visible{outline:3px solid #f5a623;outline-offset:2px}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}main{background:#161b22;border-color:#30363d}
button{background:#21262d;border-color:#8b949e;color:#e6edf3}}`;
const styleHash = createHash('sha256').update(style).digest('base64');

/** Content security policy of a page: no frames, forms to this origin only, and redirects from there to `target`, an origin. */
export const policyOf = (target = '') =>
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'; ` +
  `form-action 'self' ${/^https?:\/\/[\w.:[\]-]+$/.test(target) ? target : ''}`.trimEnd();

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string) => text.replaceAll(/[&<>"']/g, character => entities[character] ?? '');

const page = (title: string, content: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escaped(title)} · recur</title>
    <style>${style}</style>
  </head>
  <body>
    <main>
      <h1>${escaped(title)}</h1>
${content}
    </main>
  </body>
</html>
`;

/** Page that asks whether an automation platform may manage its own webhooks. */
export function consentPage(merchantId: number, returnUrl: string, fields: Readonly<Record<string, string>>): string {
  const hidden = Object.entries(fields).map(
    ([name, value]) => `        <input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  );
  return page(
    'Connect an automation platform',
    `      <p>The platform at <strong>${escaped(new URL(returnUrl).host)}</strong> asks to be connected with the account of
        merchant <strong>${merchantId}</strong>. It will be able to</p>
      <ul>
        <li>register webhook endpoints of its own, list them and remove them,</li>
        <li>be sent the events that it chooses for them, with all data of the customers, invoices and payments concerned,
          and read recent ones as examples.</li>
      </ul>
      <p>It can change nothing else. The connection can be ended at any time.</p>
      <form method="post" action="authorize">
${hidden.join('\n')}
        <button type="submit" name="allowed" value="true">Allow</button>
        <button type="submit" name="allowed" value="false">Do not allow</button>
      </form>`,
  );
}

/** Page that shows the code to the user of a platform without a redirect address of its own. */
export const codePage = (code: string) =>
  page(
    'Copy the code',
    `      <p>Give this code to the platform. It holds for five minutes.</p>\n      <p><code>${escaped(code)}</code></p>`,
  );

/** Page of the sandbox gateway: the question that a bank would ask before a charge. */
export const sandboxPage = (amount: string) =>
  page(
    'Confirm the payment',
    `      <p>The sandbox gateway asks, in place of a bank: may <strong>${escaped(amount)}</strong> be charged? No money moves.</p>
      <form method="post">
        <button type="submit" name="answer" value="approve">Approve</button>
        <button type="submit" name="answer" value="decline">Decline</button>
      </form>`,
  );

export const messagePage = (title: string, message: string) => page(title, `      <p>${escaped(message)}</p>`);
