import { describe, expect, it } from '@jest/globals';
import { htmlOf } from '../src/outbound/mail-page.js';

describe('the page of an e-mail', () => {
  it('has its paragraphs, and a link for each line that ends in an address', () => {
    const page = htmlOf('Invoice 1', 'Hello Ada,\n\nPay here: https://pay.example/x?a=1&b=2\nnothing else\n\nBye');
    expect(page).toContain('<title>Invoice 1</title>');
    expect(page.match(/<p /g)).toHaveLength(3);
    expect(page).toMatch(
      /<a href="https:\/\/pay\.example\/x\?a=1&amp;b=2" style="[^"]+">Pay here<\/a><br>nothing else/,
    );
  });

  it('writes the names of others as text, and what looks like an address in them too', () => {
    const page = htmlOf('<b>', 'Hello <img src=x onerror=alert(1)> "& Co" javascript:alert(1)');
    expect(page).not.toMatch(/<b>|<img|href/);
    expect(page).toContain('&lt;img src=x onerror=alert(1)&gt; &quot;&amp; Co&quot;');
  });
});
