import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { exponentOf, sandboxQuestion, validate } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { ask, Bus, CLOCK, type Clock, systemCaller } from '@recur/platform';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { gatewayLimits } from '../limits.js';
import { messagePage, policyOf, sandboxPage } from '../oauth/consent.js';
import { Admission } from './admission.js';
import { Responses } from './responses.js';

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
    private readonly bus: Bus,
    private readonly admission: Admission,
    private readonly responses: Responses,
    @Inject(CLOCK) private readonly clock: Clock,
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
        onRequest: (request, reply, done) =>
          this.admission.admitAnyone(request, reply, rejection => {
            if (rejection === undefined) done();
            else this.responses.refuse(reply, rejection);
          }),
        handler: (request, reply) => {
          void this.answer(request, reply);
        },
      });
    });
  }

  /** Never throws: every outcome becomes a response. */
  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      const { state, amount, currency } = await this.asked(request);
      const page = state === 'open' ? sandboxPage(`${major(amount, currency)} ${currency}`) : undefined;
      reply
        .header('content-type', 'text/html; charset=utf-8')
        .header('content-security-policy', policyOf())
        .send(page ?? messagePage('Confirm the payment', ends[state as keyof typeof ends]));
    } catch (error) {
      this.responses.refuse(reply, error);
    }
  }

  private asked({ method, params, body, id, traceparent }: FastifyRequest) {
    const { gatewayId, reference } = params as { gatewayId: string; reference: string };
    const said = method === 'POST' && typeof body === 'string' ? new URLSearchParams(body).get('answer') : null;
    const checked = validate(sandboxQuestion.input, {
      gatewayId: /^\d{1,16}$/.test(gatewayId) ? Number(gatewayId) : 0,
      reference,
      ...(said === 'approve' || said === 'decline' ? { answer: said } : {}),
    });
    if (!checked.ok) throw new Rejected('gateway_not_found');
    const caller = systemCaller(0, id, this.clock.wall() + gatewayLimits.deadlineMs, traceparent);
    return ask(this.bus, sandboxQuestion, checked.value, caller);
  }
}

/** An amount in major units, such as 12.05. */
function major(amount: number, currency: string): string {
  const exponent = exponentOf(currency);
  const digits = String(amount).padStart(exponent + 1, '0');
  return exponent === 0 ? digits : `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}
