import { fileURLToPath } from 'node:url';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Operation } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, CONFIG, LOG, type Log } from '@recur/platform';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../config.js';
import { wrongMethod } from '../http/methods.js';
import { OpenPaths } from '../http/open-paths.js';
import { OPERATIONS } from '../http/routes.js';
import { type Folder, type PageFile, readFolder } from './folder.js';

/** Path of the hosted pages, and of the operations that they call. */
const base = '/portal';
const INDEX = 'index.html';
/** Folder whose file names contain a digest of the content. */
const hashedAssets = 'assets/';
/** Time between looks for a folder that was not there. */
const retryMs = 1_000;

/**
 * Allows only what is served from here; styles are files, and the pages are never framed. The other hosts are those that
 * Stripe documents for its card fields (https://docs.stripe.com/security/guide): its script, which may not be served from
 * elsewhere, the frames that a card is typed into and its bank asks in, and its API. The pages ask them only where a
 * gateway of Stripe is chosen.
 */
const portalPolicy =
  "default-src 'none'; script-src 'self' https://js.stripe.com https://*.js.stripe.com; style-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self' https://api.stripe.com; " +
  'frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com; ' +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const caching = {
  immutable: 'public, max-age=31536000, immutable',
  none: 'no-store',
  hour: 'public, max-age=3600',
} as const;

/**
 * Static files of the hosted pages, from PORTAL_FILES. A path without a file extension is a page: the index, which finds
 * out by itself what to show. The folder is read once, when first asked for.
 */
@Injectable()
export class PortalPages implements OnModuleInit {
  private folder: Promise<Folder | undefined> | undefined;
  private lookedMs = Number.NEGATIVE_INFINITY;
  private readonly root: string;

  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly paths: OpenPaths,
    @Inject(OPERATIONS) private readonly operations: readonly Operation[],
    @Inject(CONFIG) config: GatewayConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.root = config.PORTAL_FILES || fileURLToPath(new URL('../../../portal/dist', import.meta.url));
  }

  onModuleInit(): void {
    const http = this.host.httpAdapter.getInstance<FastifyInstance>();
    for (const url of [base, `${base}/*`]) {
      http.route({
        method: 'GET',
        url,
        onRequest: this.paths.onRequest,
        handler: this.paths.handler((request, reply) => this.answer(request, reply)),
      });
    }
  }

  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const path = request.url.split('?', 1)[0] as string;
    // the path of an operation that takes POST alone
    const wrong = this.operations.some(operation => operation.path === path) && wrongMethod(request, reply);
    if (wrong) throw wrong;
    const folder = await this.files();
    if (folder === undefined) throw new Rejected('unknown_path', 'The hosted pages are not installed here');
    const name = path.slice(base.length + 1);
    const file = folder.get(name) ?? (isPage(name) ? folder.get(INDEX) : undefined);
    if (file === undefined) throw new Rejected('unknown_path');
    send(request, reply, file, cachingOf(name, folder));
  }

  /** The files; undefined where there are none, which is looked at again a moment later. */
  private async files(): Promise<Folder | undefined> {
    if (this.folder === undefined) {
      if (this.clock.wall() - this.lookedMs < retryMs) return undefined;
      this.lookedMs = this.clock.wall();
      this.folder = readFolder(this.root);
    }
    try {
      const found = await this.folder;
      if (found === undefined) this.folder = undefined;
      return found;
    } catch (error) {
      this.folder = undefined;
      this.log.error({ err: error, folder: this.root }, 'the hosted pages cannot be read');
      return undefined;
    }
  }
}

/** True for the path of a page: its last part has no file extension. */
const isPage = (name: string) => !name.startsWith(hashedAssets) && !/\.[^/]*$/.test(name);

function cachingOf(name: string, folder: Folder): string {
  if (!folder.has(name) || name === INDEX) return caching.none;
  return name.startsWith(hashedAssets) ? caching.immutable : caching.hour;
}

function send(request: FastifyRequest, reply: FastifyReply, file: PageFile, cacheControl: string): void {
  const { headers } = request;
  reply
    .header('content-security-policy', portalPolicy)
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cache-control', cacheControl)
    .header('etag', file.etag)
    .header('vary', 'accept-encoding')
    .type(file.type);
  if (headers['if-none-match'] === file.etag) {
    reply.code(304).send();
    return;
  }
  const isShort = file.gzipped !== undefined && /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
  if (isShort) reply.header('content-encoding', 'gzip');
  reply.send(isShort ? file.gzipped : file.bytes);
}
