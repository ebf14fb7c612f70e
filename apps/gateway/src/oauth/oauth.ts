import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { type AutomationAnswer, type AutomationRequest, automationStep, hookInputs, validate } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { ask, Bus, CLOCK, type Clock, CONFIG, systemCaller } from '@recur/platform';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../config.js';
import { Admission } from '../http/admission.js';
import { jsonOf } from '../http/body.js';
import { success } from '../http/envelope.js';
import { Responses } from '../http/responses.js';
import { gatewayLimits } from '../limits.js';
import { messagePage, sendPage } from '../pages/page.js';
import { codePage, consentPage } from './consent.js';

const FORM = 'application/x-www-form-urlencoded';
/** Characters of a parameter. */
const longest = 4_000;

type Fields = Record<string, string>;
type Step = keyof typeof hookInputs;

/**
 * The HTTP forms of automation connections: OAuth 2.0 for platforms (RFC 6749, 7009, 7636, 8414), and what their
 * access tokens are for. notification decides; this class turns its answers into pages, redirects, OAuth's JSON or the
 * envelope.
 */
@Injectable()
export class OAuth implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly bus: Bus,
    private readonly admission: Admission,
    private readonly responses: Responses,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  onModuleInit(): void {
    // a Fastify scope of its own: no other path accepts forms
    void this.host.httpAdapter.getInstance<FastifyInstance>().register(async http => {
      http.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => done(null, body));
      http.addHook('onRoute', route => {
        route.bodyLimit = gatewayLimits.anonymousBodyBytes;
      });
      http.addHook('onRequest', (request, reply, done) =>
        this.admission.admitAnyone(request, reply, rejection => {
          if (rejection !== undefined) this.responses.refuse(reply, rejection);
          // the question of a GET may have an effect, which HEAD must not have
          else if (request.method === 'HEAD') reply.send();
          else done();
        }),
      );
      http.get('/.well-known/oauth-authorization-server', (_request, reply) => reply.send(this.metadata()));
      http.get('/oauth/authorize', (request, reply) => this.byFields('authorize', request.query, request, reply));
      http.post('/oauth/authorize', (request, reply) => this.byForm('decide', request, reply));
      http.post('/oauth/token', (request, reply) => this.byForm('token', request, reply));
      http.post('/oauth/revoke', (request, reply) => this.byForm('revoke', request, reply));
      http.get('/oauth/code', (request, reply) => this.shown(request.query as Fields, reply));
      http.get('/oauth/hooks', (request, reply) => this.byToken('list', request.query, request, reply));
      http.post('/oauth/hooks', (request, reply) => this.byToken('subscribe', jsonIn(request), request, reply));
      http.delete('/oauth/hooks/:endpointId', (request, reply) =>
        this.byToken('unsubscribe', request.params, request, reply),
      );
      http.get('/oauth/samples', (request, reply) => this.byToken('samples', request.query, request, reply));
    });
  }

  private metadata(): object {
    const base = this.config.BASE_URL;
    return {
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      revocation_endpoint: `${base}/oauth/revoke`,
      scopes_supported: ['hooks'],
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: ['S256'],
    };
  }

  private byForm(step: 'decide' | 'token' | 'revoke', request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const form = typeof request.body === 'string' ? new URLSearchParams(request.body) : undefined;
    return this.byFields(step, form, request, reply);
  }

  private byFields(
    step: 'authorize' | 'decide' | 'token' | 'revoke',
    given: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    return this.answered(reply, async () => {
      const pairs = given instanceof URLSearchParams ? [...given] : Object.entries((given ?? {}) as Fields);
      const doubled = new Set(pairs.map(([name]) => name)).size < pairs.length;
      if (doubled || pairs.some(([, value]) => typeof value !== 'string')) {
        throw invalid('', 'A parameter may be given once');
      }
      if (pairs.some(([, value]) => value.length > longest)) throw invalid('', 'A parameter is too long');
      return this.ask({ step, fields: Object.fromEntries(pairs) }, request);
    });
  }

  private byToken(step: Step, given: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.answered(reply, async () => {
      const [, token = ''] = /^Bearer +([\w.-]{1,200})$/i.exec(request.headers.authorization ?? '') ?? [];
      if (token === '') throw new Rejected('credential_invalid');
      const checked = validate(hookInputs[step], given);
      if (!checked.ok) throw new Rejected('invalid_parameters', undefined, checked.issues);
      return this.ask({ step, token, input: checked.value } as AutomationRequest, request);
    });
  }

  private ask(step: AutomationRequest, { id, traceparent }: FastifyRequest): Promise<AutomationAnswer> {
    const caller = systemCaller(0, id, this.clock.wall() + gatewayLimits.deadlineMs, traceparent);
    return ask(this.bus, automationStep, step, caller);
  }

  /** Never throws: every outcome becomes a response. */
  private async answered(reply: FastifyReply, ask: () => Promise<AutomationAnswer>): Promise<void> {
    try {
      this.send(reply, await ask());
    } catch (error) {
      this.responses.refuse(reply, error);
    }
  }

  private send(reply: FastifyReply, answer: AutomationAnswer): void {
    switch (answer.kind) {
      case 'consent': {
        const { merchantId, returnUrl, fields } = answer;
        const { origin } = new URL(returnUrl);
        sendPage(reply, words => consentPage(words, merchantId, returnUrl, fields), origin);
        return;
      }
      case 'redirect':
        reply.redirect(answer.location, 303);
        return;
      case 'refusal':
        sendPage(reply.code(400), words => messagePage(words.refused, words[refusals[answer.reason]]));
        return;
      case 'oauth':
        reply.code(answer.status).header('pragma', 'no-cache').send(answer.body);
        return;
      case 'data':
        reply
          .type('application/json; charset=utf-8')
          .send(success(JSON.stringify(answer.data), answer.merchantId, reply.request.id));
        return;
      case 'rejected':
        this.responses.refuse(reply, new Rejected(answer.slug, answer.message, answer.issues));
    }
  }

  /** Shows the code to the user of a platform without a redirect address of its own. */
  private shown({ code, error }: Fields, reply: FastifyReply): void {
    // words of ours only: what a link carries could be anybody's, and would seem to be ours
    const isCode = typeof code === 'string' && /^[\w.-]{1,200}$/.test(code);
    const reason = error === 'access_denied' ? 'notConnectedDenied' : 'notConnectedNoCode';
    sendPage(reply, words => (isCode ? codePage(words, code) : messagePage(words.notConnected, words[reason])));
  }
}

/** The words for each refusal. */
const refusals = { stale: 'refusedStale', elsewhere: 'refusedElsewhere' } as const;

const jsonIn = ({ body }: FastifyRequest): unknown => jsonOf(Buffer.isBuffer(body) ? body : undefined);
