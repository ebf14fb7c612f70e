import { Inject, Injectable } from '@nestjs/common';
import { type Caller, CONFIG, Db, Outbound } from '@recur/platform';
import { addressRules, type Config } from '../config.js';
import { type DocumentContent, isPicture, logoBytes } from './content.js';
import { sellerLogos } from './tables.js';

/** Well within a command's five seconds. `urlBytes` is what an index holds; where there was no picture it is looked again. */
const limits = { deadlineMs: 2_000, urlBytes: 2_048, againSeconds: 3_600 } as const;

/** A document without its logo, and where that is; '' for none. */
export interface Printed {
  content: DocumentContent;
  logoUrl: string;
}

/**
 * Logos of merchants, each fetched once from the URL that the merchant has set, for the first document that shows it. A
 * document is made without a logo that cannot be had.
 */
@Injectable()
export class Logos {
  private readonly outbound: Outbound;

  constructor(
    private readonly db: Db,
    @Inject(CONFIG) config: Config,
  ) {
    const { deadlineMs } = limits;
    this.outbound = new Outbound({ ...addressRules(config), deadlineMs, answerBytes: logoBytes + 1 });
  }

  /** The document with its logo, outside of any transaction. */
  async addedTo({ content, logoUrl }: Printed, caller: Caller): Promise<DocumentContent> {
    if (logoUrl === '' || Buffer.byteLength(logoUrl) > limits.urlBytes) return content;
    const [known, now] = await this.db.read(caller, async reader => [
      await reader.find(sellerLogos, { url: logoUrl }),
      reader.now,
    ]);
    const isKnown = known && (known.image !== '' || now < known.fetchTime + limits.againSeconds);
    const image = isKnown ? known.image : await this.fetched(logoUrl, caller);
    return { ...content, logo: image === '' ? null : Buffer.from(image, 'base64') };
  }

  /** Called by Nest when the service ends. */
  onModuleDestroy(): Promise<void> {
    return this.outbound.close();
  }

  private async fetched(url: string, caller: Caller): Promise<string> {
    const result = await this.outbound.get(url, { accept: 'image/png, image/jpeg' });
    const isThere = result.kind === 'answered' && result.status === 200 && isPicture(result.bytes);
    const image = isThere ? result.bytes.toString('base64') : '';
    await this.db.apply(caller, async tx => {
      tx.save(sellerLogos, { merchantId: tx.merchantId, url, image, fetchTime: tx.now });
    });
    return image;
  }
}
