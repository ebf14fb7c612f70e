import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Operation } from '@recur/contracts';
import { CONFIG } from '@recur/platform';
import type { GatewayConfig } from '../config.js';
import { version } from '../health.js';
import { OPERATIONS } from '../http/routes.js';
import { Compressed } from './compressed.js';
import { recordedExamples } from './examples.js';
import { Manual, manualStyle, navStyle, navTo, sourceOf } from './manual.js';
import { openApi } from './openapi.js';

const viewer = createRequire(import.meta.url);
/** Files of Swagger UI's package that the page loads. */
const files = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;

/** Allows only what is served from here: the page works without the internet. */
const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>recur API</title>
    <link rel="icon" type="image/png" href="docs/favicon-32x32.png">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/nav.css">
  </head>
  <body>
    ${navTo('docs/')}
    <div id="docs"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

const start = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  filter: true,
  displayRequestDuration: true,
  validatorUrl: null,
});
`;

/** The OpenAPI document, and a page to read it and try it out: Swagger UI from its package. */
@Injectable()
export class Docs implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    @Inject(CONFIG) private readonly config: GatewayConfig,
    @Inject(OPERATIONS) private readonly operations: readonly Operation[],
  ) {}

  onModuleInit(): void {
    const http = this.host.httpAdapter.getInstance();
    // made before anybody is served: it takes a second, which a request would take from all others
    const json = JSON.stringify(openApi(this.operations, version, this.config.BASE_URL, recordedExamples()));
    const document = new Compressed(json, 'application/json; charset=utf-8');
    http.get('/openapi.json', (request, reply) => document.send(request, reply));
    this.serveManual();
    http.get('/docs', (_request, reply) =>
      reply.header('content-security-policy', docsPolicy).type('text/html; charset=utf-8').send(page),
    );
    http.get('/docs/', (_request, reply) => reply.redirect('../docs'));
    http.get('/docs/start.js', (_request, reply) => reply.type('text/javascript; charset=utf-8').send(start));
    for (const [file, type] of Object.entries(files)) {
      const path = viewer.resolve(`swagger-ui-dist/${file}`);
      http.get(`/docs/${file}`, (_request, reply) => {
        reply.type(type).header('cache-control', 'max-age=3600').send(createReadStream(path));
      });
    }
  }

  /** The pages of the manual, each with its markdown beside it, and the texts for machines. */
  private serveManual(): void {
    const http = this.host.httpAdapter.getInstance();
    const serve = (path: string, type: string, text: () => string) => {
      let file: Compressed | undefined;
      http.get(path, (request, reply) => {
        // made when it is first asked for: all of them would take a second of every start
        file ??= new Compressed(text(), `${type}; charset=utf-8`);
        file.send(request, reply.header('content-security-policy', docsPolicy));
      });
    };
    const manual = new Manual();
    for (const page of manual.pages) {
      serve(`/docs/${page.address}`, 'text/html', () => manual.html(page));
      serve(`/docs/${sourceOf(page.address)}`, 'text/markdown', () => manual.source(page));
    }
    serve('/docs/guides/shell.sh', 'text/plain', () => manual.shell);
    serve('/docs/manual.css', 'text/css', () => manualStyle);
    serve('/docs/nav.css', 'text/css', () => navStyle);
    serve('/llms.txt', 'text/plain', () => manual.index(this.config.BASE_URL));
    serve('/llms-full.txt', 'text/plain', () => manual.whole());
    http.get('/', (_request, reply) => reply.redirect('docs'));
    http.get('/docs/guides', (_request, reply) => reply.redirect('guides/'));
  }
}
