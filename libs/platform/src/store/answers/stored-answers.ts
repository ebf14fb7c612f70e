import { Rejected } from '@recur/kernel';
import type { Caller } from '../../runtime/caller.js';
import type { Keyring } from '../../runtime/secrets.js';
import { type EventKinds, wholeIn } from '../event.js';
import { Replayed } from '../outcomes.js';
import type { Row } from '../pool.js';
import type { AnswerRow, EventRow } from '../sql/write-set.js';
import { jsonOfAnswer } from './json.js';

/** Asks the platform's tables. */
type Infra = (text: string, values: readonly unknown[]) => Promise<Row[]>;

/** Stands for an event's data in a stored answer. No member of an answer has this form by itself. */
const placeOf = ({ aggregate, aggregateId, version }: EventRow) => ({ $event: [aggregate, aggregateId, version] });

/** Answers stored under idempotency keys, so that a repeat gets the same bytes. */
export class StoredAnswers {
  constructor(
    private readonly keyring: Keyring,
    private readonly kinds: EventKinds,
  ) {}

  /** The row to store with the effect. A view that is an event's data too is stored once, in the outbox. */
  keep(caller: Caller, result: object, emitted: ReadonlyMap<object, EventRow>, createdAt: number): AnswerRow {
    const { merchantId, idempotencyKey: key = '', fingerprint = '', requestId } = caller;
    if (caller.secretOutput) {
      const answer = this.keyring.seal(jsonOfAnswer(result), sealedAt(merchantId, key));
      return { key, fingerprint, requestId, form: 'sealed', answer, createdAt };
    }
    let form: AnswerRow['form'] = 'plain';
    const answer = jsonOfAnswer(result, value => {
      const event = emitted.get(value);
      if (event) form = 'events';
      return event && JSON.stringify(placeOf(event));
    });
    return { key, fingerprint, requestId, form, answer, createdAt };
  }

  /** Throws Replayed if the caller's key has an answer, or Rejected if that was given to another request. */
  async replay(caller: Caller, infra: Infra): Promise<void> {
    const stored = caller.idempotencyKey === undefined ? undefined : await this.find(caller, infra);
    if (stored) throw stored;
  }

  private async find(
    { merchantId, idempotencyKey = '', fingerprint }: Caller,
    infra: Infra,
  ): Promise<Replayed | undefined> {
    const [stored] = await infra(
      'select fingerprint, request_id, answer, form from idempotency where merchant_id = $1 and key = $2',
      [merchantId, idempotencyKey],
    );
    if (!stored) return undefined;
    if (stored.fingerprint !== fingerprint) throw new Rejected('idempotency_reused');
    const answer = String(stored.answer);
    const requestId = String(stored.request_id);
    if (stored.form === 'plain') return new Replayed(answer, requestId);
    if (stored.form === 'sealed') {
      return new Replayed(this.keyring.open(answer, sealedAt(merchantId, idempotencyKey)), requestId);
    }
    return new Replayed(await this.withEvents(answer, merchantId, infra), requestId);
  }

  /** Puts the events' data back, byte for byte. */
  private async withEvents(answer: string, merchantId: number, infra: Infra): Promise<string> {
    const members = Object.entries(JSON.parse(answer) as Record<string, { $event?: unknown[] }>);
    const texts = members.map(async ([name, value]) => {
      if (value?.$event === undefined) return `${JSON.stringify(name)}:${JSON.stringify(value)}`;
      const [row] = await infra(eventAt, [merchantId, ...value.$event]);
      return `${JSON.stringify(name)}:${wholeIn(String(row?.envelope), this.kinds)}`;
    });
    return `{${(await Promise.all(texts)).join(',')}}`;
  }
}

const eventAt = `select envelope from outbox
  where merchant_id = $1 and aggregate = $2 and aggregate_id = $3 and version = $4`;

const sealedAt = (merchantId: number, key: string) => `idempotency.answer ${merchantId} ${key}`;
