import { fetchDocument, type Invoice } from '@recur/contracts';
import { ask } from '@recur/platform';
import type { DocumentContent } from '../../src/documents/content.js';
import { renderPdf } from '../../src/documents/pdf/render.js';
import { DocumentRenderer } from '../../src/documents/renderer.js';
import { billing } from '../../src/service.js';
import { type Shop, shop } from '../world/shop.js';

const rendering = { render: (_: number, content: DocumentContent) => renderPdf(content) };

/** A shop whose documents are made in the test's own thread: from source, there is no file for another one to run. */
export const shopWithDocuments = (env: Record<string, string> = {}): Promise<Shop> =>
  shop(
    {
      ...billing,
      providers: billing.providers?.map(provider =>
        provider === DocumentRenderer ? { provide: DocumentRenderer, useValue: rendering } : provider,
      ),
    },
    env,
  );

/** What a link asks billing for. */
export function linked({ gatewayInvoicePdf }: Pick<Invoice, 'gatewayInvoicePdf'>) {
  const [merchantId, invoiceId = '', signature = ''] = gatewayInvoicePdf.split('/documents/')[1]?.split('/') ?? [];
  return { merchantId: Number(merchantId), invoiceId, signature };
}

/** Fetches a document as the gateway does, without a credential. */
export async function fetched({ t }: Shop, link: ReturnType<typeof linked>) {
  const { fileName, base64 } = await ask(t.bus, fetchDocument, link, t.callerOf({ merchantId: 0 }));
  return { fileName, pdf: new Uint8Array(Buffer.from(base64, 'base64')) };
}
