import { Outbound } from '@recur/platform';
import type { Config } from '../config.js';
import { addressRules } from '../config.js';

/** A number as VIES takes it: its prefix, and the rest. */
export interface ViesNumber {
  prefix: string;
  local: string;
}

/** Answer of VIES about a number; `unavailable` where it, or the register of the member state, cannot say. */
export type ViesAnswer =
  | { kind: 'valid' | 'invalid'; companyName: string; companyAddress: string; reference: string }
  | { kind: 'unavailable'; detail: string };

/** Well within a command's five seconds. */
const limits = { deadlineMs: 3_000, companyCharacters: 2_000 } as const;

/** Client of VIES, the European Commission's register of VAT numbers. It is off unless VIES_URL is set. */
export class Vies {
  private readonly outbound: Outbound;

  constructor(private readonly config: Config) {
    this.outbound = new Outbound({ ...addressRules(config), deadlineMs: limits.deadlineMs });
  }

  get on(): boolean {
    return this.config.VIES_URL !== undefined;
  }

  /** Asks about a number, on behalf of the requester if there is one. Never throws because of the network. */
  async check({ prefix, local }: ViesNumber, requester?: ViesNumber): Promise<ViesAnswer> {
    const asked = {
      countryCode: prefix,
      vatNumber: local,
      ...(requester && { requesterMemberStateCode: requester.prefix, requesterNumber: requester.local }),
    };
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const result = await this.outbound.post(`${this.config.VIES_URL}/check-vat-number`, headers, JSON.stringify(asked));
    if (result.kind === 'failed') return { kind: 'unavailable', detail: result.detail };
    return answerIn(result.body) ?? { kind: 'unavailable', detail: `HTTP ${result.status}` };
  }

  /** Called by Nest when the service ends. */
  onModuleDestroy(): Promise<void> {
    return this.outbound.close();
  }
}

function answerIn(body: string): ViesAnswer | undefined {
  const answer = fieldsIn(body);
  if (typeof answer.valid === 'boolean') {
    return {
      kind: answer.valid ? 'valid' : 'invalid',
      companyName: disclosed(answer.name),
      companyAddress: disclosed(answer.address),
      reference: disclosed(answer.requestIdentifier),
    };
  }
  const [failure] = Array.isArray(answer.errorWrappers) ? answer.errorWrappers : [];
  const code =
    typeof failure === 'object' && failure !== null && 'error' in failure ? String(failure.error) : undefined;
  // a number that VIES cannot even read is none
  if (code === 'INVALID_INPUT') return { kind: 'invalid', companyName: '', companyAddress: '', reference: '' };
  return code === undefined ? undefined : { kind: 'unavailable', detail: code };
}

function fieldsIn(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** A text that PostgreSQL can store. Some member states answer `---` in place of a name or address. */
const disclosed = (value: unknown): string =>
  typeof value === 'string' && !/^-*$/.test(value.trim())
    ? value
        .trim()
        .slice(0, limits.companyCharacters)
        .replace(/[\0\p{Cs}]/gu, '\uFFFD')
    : '';
