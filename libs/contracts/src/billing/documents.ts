import { z } from 'zod';
import { internal } from '../operation.js';

/** The PDF behind a signed link; asked by the gateway, which answers its bytes. Rejects `invoice_not_found`. */
export const fetchDocument = internal({
  service: 'billing',
  name: 'platform.document',
  input: z.object({ merchantId: z.int().min(1), invoiceId: z.string().max(100), signature: z.string().max(300) }),
  output: z.object({ fileName: z.string(), base64: z.string() }),
});
