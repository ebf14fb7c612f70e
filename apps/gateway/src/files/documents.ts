import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { fetchDocument } from '@recur/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OpenPaths } from '../http/open-paths.js';

/** The one spelling of a link: no digit, escape or slash more or less leads to a document too. */
const documentLink = /^\/documents\/([1-9]\d{0,15})\/([\w-]+)\/(\d+\.[\w-]+)$/;

/**
 * PDFs of invoices and credit notes at signed links, which need no credential; requests are counted by address. A success
 * is the PDF's bytes, a failure the envelope.
 */
@Injectable()
export class DocumentRoutes implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly paths: OpenPaths,
  ) {}

  onModuleInit(): void {
    this.host.httpAdapter.getInstance<FastifyInstance>().route({
      method: 'GET',
      // a wildcard: parameters of a path have a length limit, and the id of the signing key may be long
      url: '/documents/*',
      onRequest: this.paths.onRequest,
      handler: this.paths.handler((request, reply) => this.answer(request, reply)),
    });
  }

  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const [, merchantId, invoiceId, signature] = documentLink.exec(request.url.split('?', 1)[0] ?? '') ?? [];
    const input = { merchantId: Number(merchantId), invoiceId, signature };
    const { fileName, base64 } = await this.paths.ask(fetchDocument, input, request, 'invoice_not_found');
    reply
      .type('application/pdf')
      .header('content-disposition', `inline; filename="${fileName.replace(/[^\w.-]/g, '_')}"`)
      // browsers show a PDF by a page of their own, which a stricter policy would stop
      .header('content-security-policy', "frame-ancestors 'none'")
      .send(Buffer.from(base64, 'base64'));
  }
}
