import { Injectable } from '@nestjs/common';
import type { GatewayAdapter } from './adapter.js';

/** The adapters of this deployment by the name of their gateways. The wire transfer has none: it waits for the mark. */
@Injectable()
export class GatewayAdapters {
  private readonly byName: ReadonlyMap<string, GatewayAdapter>;

  constructor(adapters: readonly GatewayAdapter[]) {
    this.byName = new Map(adapters.map(adapter => [adapter.name, adapter]));
  }

  /** Undefined for a gateway that cannot charge by itself, or not here: the sandbox in production. */
  of(gatewayName: string): GatewayAdapter | undefined {
    return this.byName.get(gatewayName);
  }
}
