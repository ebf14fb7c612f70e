import { Readable } from 'node:stream';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { fetchExport, type Out } from '@recur/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OpenPaths } from '../http/open-paths.js';

/** The one spelling of a link: no digit, escape or slash more or less leads to a file too. */
const exportLink = /^\/exports\/([1-9]\d{0,15})\/([1-9]\d{0,15})\/(\d+\.[\w-]+)$/;

const exportTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

type Part = Out<typeof fetchExport>;
const bytesOf = ({ base64 }: Part) => Buffer.from(base64, 'base64');

/**
 * Exported files at signed links, which need no credential; requests are counted by address. A success is the file's bytes,
 * of which the next part is asked for when the one before was taken; a failure is the envelope.
 */
@Injectable()
export class ExportRoutes implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly paths: OpenPaths,
  ) {}

  onModuleInit(): void {
    this.host.httpAdapter.getInstance<FastifyInstance>().route({
      method: ['GET', 'HEAD'],
      // a wildcard: parameters of a path have a length limit
      url: '/exports/*',
      onRequest: this.paths.onRequest,
      handler: this.paths.handler((request, reply) => this.answer(request, reply)),
    });
  }

  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const first = await this.part(request, 0);
    const { fileName, bytes } = first;
    reply
      .type(exportTypes[fileName.slice(fileName.lastIndexOf('.') + 1)] ?? 'application/octet-stream')
      .header('content-disposition', `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"`)
      .header('content-length', bytes);
    if (request.method === 'HEAD') reply.send();
    else reply.send(Readable.from(this.partsFrom(request, first), { objectMode: false, highWaterMark: 1 }));
  }

  private async *partsFrom(request: FastifyRequest, first: Part): AsyncGenerator<Buffer> {
    yield bytesOf(first);
    for (let at = 1; at < first.parts; at++) yield bytesOf(await this.part(request, at));
  }

  private part(request: FastifyRequest, part: number): Promise<Part> {
    const [, merchantId, taskId, signature] = exportLink.exec(request.url.split('?', 1)[0] ?? '') ?? [];
    const input = { merchantId: Number(merchantId), taskId: Number(taskId), signature, part };
    return this.paths.ask(fetchExport, input, request, 'export_not_found');
  }
}
