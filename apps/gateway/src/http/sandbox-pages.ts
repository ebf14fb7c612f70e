import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { exponentOf, sandboxQuestion } from '@recur/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { gatewayLimits } from '../limits.js';
import { messagePage, policyOf, sandboxPage } from '../oauth/consent.js';
import { gatewayIdIn, OpenPaths } from './open-paths.js';

const FORM = 'application/x-www-form-urlencoded';

/** Texts after an answer. */
const ends = {
  approved: 'The payment is approved. You may close this page.',
  declined: 'The payment is declined. You may close this page.',
} as const;

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
    const { state, amount, currency } = await this.paths.ask(sandboxQuestion, input, request, 'gateway_not_found');
    const page = state === 'open' ? sandboxPage(`${major(amount, currency)} ${currency}`) : undefined;
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', policyOf())
      .send(page ?? messagePage('Confirm the payment', ends[state as keyof typeof ends]));
  }
}

/** An amount in major units, such as 12.05. */
function major(amount: number, currency: string): string {
  const exponent = exponentOf(currency);
  const digits = String(amount).padStart(exponent + 1, '0');
  return exponent === 0 ? digits : `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}
