import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { exponentOf, sandboxQuestion } from '@recur/contracts';
import { decimalOf, Rejected } from '@recur/kernel';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { gatewayLimits } from '../limits.js';
import { marked, messagePage, type Page, sendPage } from '../pages/page.js';
import type { Words } from '../pages/words/en.js';
import { gatewayIdIn, OpenPaths } from './open-paths.js';

const FORM = 'application/x-www-form-urlencoded';

/**
 * The page of the sandbox gateway at /gateway/<id>/sandbox/<reference>, where the user of a card that needs action approves or
 * declines. Links to it are unguessable; requests are counted by address.
 */
@Injectable()
export class SandboxPages implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly paths: OpenPaths,
  ) {}

  onModuleInit(): void {
    // a scope of its own: no other path accepts forms
    void this.host.httpAdapter.getInstance<FastifyInstance>().register(async scope => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => done(null, body));
      scope.route({
        method: ['GET', 'POST'],
        url: '/gateway/:gatewayId/sandbox/:reference',
        bodyLimit: gatewayLimits.anonymousBodyBytes,
        onRequest: this.paths.onRequest,
        handler: this.paths.handler((request, reply) => this.answer(request, reply)),
      });
    });
  }

  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { method, params, body } = request;
    const { reference } = params as { reference: string };
    const said = method === 'POST' && typeof body === 'string' ? new URLSearchParams(body).get('answer') : null;
    const answer = said === 'approve' || said === 'decline' ? { answer: said } : {};
    const input = { gatewayId: gatewayIdIn(request), reference, ...answer };
    const question = await this.paths.ask(sandboxQuestion, input, request, 'gateway_not_found').catch(noneIfUnknown);
    sendPage(question ? reply : reply.code(404), (words, locale) => {
      if (!question) return messagePage(words.payment, words.unknownPayment);
      const { state, amount, currency } = question;
      return state === 'open'
        ? questionPage(words, amountIn(locale, amount, currency))
        : messagePage(words.payment, words[state]);
    });
  }
}

/** Undefined for a link that leads to no payment. */
function noneIfUnknown(error: unknown): undefined {
  const isUnknown = error instanceof Rejected && /^(gateway|payment)_not_found$/.test(error.slug);
  if (!isUnknown) throw error;
}

/** The question that a bank would ask before a charge. */
const questionPage = (words: Words, amount: string): Page => ({
  title: words.payment,
  content: `<p>${marked(words.paymentAsked, { amount })}</p>
<form method="post">
  <button type="submit" name="answer" value="approve">${marked(words.approve)}</button>
  <button type="submit" name="answer" value="decline">${marked(words.decline)}</button>
</form>`,
});

/** An amount of minor units as a language writes it, with the currency's decimals. */
function amountIn(locale: string, amount: number, currency: string): string {
  const decimals = exponentOf(currency);
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency, ...digits });
  return format.format(decimalOf(BigInt(amount), decimals));
}
