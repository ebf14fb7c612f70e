import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { fetchDocument, validate } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { ask, Bus, CLOCK, type Clock, systemCaller } from '@recur/platform';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { gatewayLimits } from '../limits.js';
import { Admission } from './admission.js';
import { Responses } from './responses.js';

/**
 * PDFs of invoices and credit notes at signed links, which need no credential; requests are counted by address. A success
 * is the PDF's bytes, a failure the envelope.
 */
@Injectable()
export class DocumentRoutes implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly bus: Bus,
    private readonly admission: Admission,
    private readonly responses: Responses,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.host.httpAdapter.getInstance<FastifyInstance>().route({
      method: 'GET',
      // a wildcard: parameters of a path have a length limit, and the id of the signing key may be long
      url: '/documents/*',
      onRequest: (request, reply, done) =>
        this.admission.admitAnyone(request, reply, rejection => {
          if (rejection === undefined) done();
          else this.responses.refuse(reply, rejection);
        }),
      handler: (request, reply) => {
        void this.answer(request, reply);
      },
    });
  }

  /** Never throws: every outcome becomes a response. */
  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      const { fileName, base64 } = await this.fetch(request);
      reply
        .type('application/pdf')
        .header('content-disposition', `inline; filename="${fileName.replace(/[^\w.-]/g, '_')}"`)
        // browsers show a PDF by a page of their own, which a stricter policy would stop
        .header('content-security-policy', "frame-ancestors 'none'")
        .send(Buffer.from(base64, 'base64'));
    } catch (error) {
      this.responses.refuse(reply, error);
    }
  }

  private fetch({ params, id, traceparent }: FastifyRequest) {
    const [merchantId, invoiceId, signature, ...more] = (params as { '*': string })['*'].split('/');
    const checked = validate(fetchDocument.input, { merchantId: Number(merchantId), invoiceId, signature });
    if (!checked.ok || more.length > 0) throw new Rejected('invoice_not_found');
    const caller = systemCaller(0, id, this.clock.wall() + gatewayLimits.deadlineMs, traceparent);
    return ask(this.bus, fetchDocument, checked.value, caller);
  }
}
