import { escaped, marked, type Page } from '../pages/page.js';
import type { Words } from '../pages/words/en.js';

/** Page that asks whether an automation platform may manage its own webhooks. */
export function consentPage(
  words: Words,
  merchantId: number,
  returnUrl: string,
  fields: Readonly<Record<string, string>>,
): Page {
  const hidden = Object.entries(fields).map(
    ([name, value]) => `  <input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  );
  return {
    title: words.connect,
    content: `<p>${marked(words.connectWho, { host: new URL(returnUrl).host, merchant: String(merchantId) })}</p>
<ul>
  <li>${marked(words.connectEndpoints)}</li>
  <li>${marked(words.connectEvents)}</li>
</ul>
<p>${marked(words.connectNoMore)}</p>
<form method="post" action="authorize">
${hidden.join('\n')}
  <button type="submit" name="allowed" value="true">${marked(words.allow)}</button>
  <button type="submit" name="allowed" value="false">${marked(words.deny)}</button>
</form>`,
  };
}

/** Page that shows the code to the user of a platform without a redirect address of its own. */
export const codePage = (words: Words, code: string): Page => ({
  title: words.code,
  content: `<p>${marked(words.codeUse)}</p>\n<p><code>${escaped(code)}</code></p>`,
});
