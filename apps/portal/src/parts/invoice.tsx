import type { Output, Result } from '@recur/client';
import { useEffect, useRef, useState } from 'react';
import { useAction } from '../session/calls.js';
import { useText } from '../text/text.js';
import { type Invoice, Lines } from './lines.js';
import { Elsewhere, Notice, Problem } from './notices.js';
import {
  type Choice,
  choiceOf,
  type Gateway,
  isCardRead,
  type Method,
  PaymentChoice,
  useCardFields,
} from './payment.js';
import { TransferDetails } from './transfer.js';

export type ShownInvoice = Output<'/portal/invoice/detail'>;

/** `open` are invoices that can be paid. */
const invoiceStates = {
  0: 'draft',
  1: 'draft',
  2: 'open',
  3: 'paid',
  4: 'failed',
  5: 'cancelled',
  6: 'reversed',
} as const;
export const stateOf = ({ status }: Pick<Invoice, 'status'>) =>
  invoiceStates[status as keyof typeof invoiceStates] ?? 'draft';

const PAYMENT_FAILED = 30;
/** Time between looks at an open invoice: at first and right after a payment, and later on. */
const soonMs = 1_500;
const laterMs = 15_000;
const looksSoon = 30;

interface Props {
  shown: ShownInvoice;
  gateways: readonly Gateway[];
  methods?: readonly Method[];
  /** How it is paid at once, without another press. */
  begin?: Choice;
  reload(): void;
  pay(choice: Choice, key: string): Promise<Result<{ paymentId: string; url: string }>>;
  /** Tells that the transfer was sent; absent where the visit may not. */
  announce?(key: string): Promise<Result<object>>;
}

/** An invoice with what can be done about it: pay, confirm, transfer, read. Follows a payment until its outcome. */
export function InvoicePanel({ shown, gateways, methods, begin, reload, pay, announce }: Props) {
  const { t, find, amount, moment, date } = useText();
  const { invoice, collecting, transfer, creditNotes, explanation, timeZone: zone } = shown;
  const state = stateOf(invoice);
  // reasons that are no help to the user, such as a lost card, have no words
  const declined = find(`declined.${invoice.payment?.failureReason}`);
  const [looks, setLooks] = useState(looksSoon);
  const { isAwaited, follow } = useFollowing(shown);
  const isFollowing = isAwaited && looks > 0;
  useTimer(state === 'open', looks > 0 || collecting?.actionUrl ? soonMs : laterMs, () => {
    if (looks > 0) setLooks(looks - 1);
    reload();
  });
  const due = amount(invoice.amountDue, invoice.currency);
  return (
    <>
      <div className="card" aria-live="polite">
        <div className="row">
          <span className="big">{state === 'open' ? due : amount(invoice.totalAmount, invoice.currency)}</span>
          <strong>{t(`invoice.state.${state}`)}</strong>
        </div>
        {state === 'paid' && invoice.paidTime > 0 && (
          <p>{t('invoice.paidAt', { time: moment(invoice.paidTime, zone) })}</p>
        )}
        {state === 'open' && collecting && (
          <>
            {collecting.deadline > 0 && <p>{t('invoice.deadline', { time: moment(collecting.deadline, zone) })}</p>}
            {collecting.nextAttemptTime > 0 && (
              <p>{t('invoice.nextAttempt', { time: moment(collecting.nextAttemptTime, zone) })}</p>
            )}
            {collecting.announcedTime > 0 && (
              <p>{t('invoice.announced', { time: date(collecting.announcedTime, zone) })}</p>
            )}
          </>
        )}
        {isFollowing && (
          <p role="status" className="waiting">
            <span className="spinner" aria-hidden="true" />
            {t('pay.progress')}
          </p>
        )}
        {invoice.sendPdf && (
          <a className="button plain" href={invoice.sendPdf} target="_blank" rel="noreferrer">
            {t('invoice.pdf')}
          </a>
        )}
      </div>
      {state === 'open' && invoice.payment?.status === PAYMENT_FAILED && !isFollowing && (
        <Notice kind="bad">
          <p>{t('pay.failed')}</p>
          {declined && <p className="small">{declined}</p>}
        </Notice>
      )}
      {state === 'open' && collecting?.actionUrl && (
        <Elsewhere url={collecting.actionUrl} text={t('pay.action')} label={t('pay.confirm')} />
      )}
      <div className="columns">
        <section className="card">
          <h2>
            {invoice.number ? t('invoice.number', { number: invoice.number }) : invoice.invoiceName || t('lines')}
          </h2>
          <Lines invoice={invoice} explanation={explanation} zone={zone} />
        </section>
        <div>
          {state === 'open' && transfer && <TransferDetails transfer={transfer} />}
          {state === 'open' && transfer && announce && collecting?.announcedTime === 0 && (
            <Announce announce={announce} />
          )}
          {state === 'open' && (
            <PayForm
              {...{ gateways, methods, begin, pay, due, isFollowing }}
              preferred={invoice.gatewayId}
              isAwaitingTransfer={transfer !== null}
              onPaid={() => {
                follow();
                setLooks(looksSoon);
              }}
            />
          )}
          {creditNotes.length > 0 && <CreditNotes notes={creditNotes} zone={zone} />}
        </div>
      </div>
    </>
  );
}

/** Follows a payment just begun until its outcome: waiting ends with another state, a failure or a question. */
function useFollowing(shown: ShownInvoice) {
  const before = useRef<string>(undefined);
  const print = ({ invoice, collecting }: ShownInvoice) =>
    [
      invoice.status,
      invoice.payment?.paymentId,
      invoice.payment?.status,
      collecting?.failures,
      collecting?.actionUrl,
    ].join();
  const isOpen = stateOf(shown.invoice) === 'open';
  const isTransfer = shown.transfer !== null;
  const isFailed = shown.invoice.payment?.status === PAYMENT_FAILED;
  const hasQuestion = Boolean(shown.collecting?.actionUrl);
  const changed = before.current !== print(shown);
  return {
    isAwaited: before.current !== undefined && isOpen && !isTransfer && !hasQuestion && !(changed && isFailed),
    follow: () => {
      before.current = print(shown);
    },
  };
}

/** Calls `tick` again and again while it is on. */
function useTimer(isOn: boolean, everyMs: number, tick: () => void) {
  const latest = useRef(tick);
  latest.current = tick;
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => latest.current(), everyMs);
    return () => clearInterval(timer);
  }, [isOn, everyMs]);
}

interface PayFormProps extends Pick<Props, 'gateways' | 'methods' | 'begin' | 'pay'> {
  preferred: number;
  /** The account to pay to is shown already, so the gateway of the invoice needs no button. */
  isAwaitingTransfer: boolean;
  due: string;
  isFollowing: boolean;
  onPaid(): void;
}

function PayForm({ gateways, methods = [], begin, pay, preferred, due, isFollowing, onPaid, ...rest }: PayFormProps) {
  const { t } = useText();
  const [chosen, setChosen] = useState(begin);
  const [page, setPage] = useState('');
  const choice = choiceOf(chosen, gateways, methods, preferred);
  const card = useCardFields(gateways);
  const action = useAction(pay);
  const isBusy = action.isBusy || card.isReading;
  const submit = async () => {
    const whole = choice && (await card.complete(choice));
    const begun = whole && (await action.start(whole));
    if (begun === undefined) return;
    setPage(begun.url);
    if (begun.url === '') onPaid();
  };
  const first = useRef(begin && submit);
  useEffect(() => {
    void first.current?.();
    first.current = undefined;
  }, []);
  return (
    <form
      className="card"
      onSubmit={event => {
        event.preventDefault();
        void submit();
      }}
    >
      <h2>{t('pay.title')}</h2>
      <PaymentChoice
        {...{ gateways, methods, choice }}
        onChoose={setChosen}
        entered={begin && isCardRead(begin) ? begin : undefined}
        card={card.ref}
      />
      <Problem error={action.error} />
      {page && <Elsewhere url={page} text={t('pay.page')} label={t('pay.open')} />}
      {choice && !(rest.isAwaitingTransfer && choice.gatewayId === preferred) && (
        <button type="submit" disabled={isBusy || isFollowing}>
          {isBusy ? t('pay.progress') : t('pay.button', { amount: due })}
        </button>
      )}
    </form>
  );
}

function Announce({ announce }: { announce: (key: string) => Promise<Result<object>> }) {
  const { t } = useText();
  const action = useAction((_: null, key) => announce(key));
  return (
    <p>
      <Problem error={action.error} />
      <button type="button" className="plain" disabled={action.isBusy} onClick={() => void action.start(null)}>
        {t('transfer.sent')}
      </button>
    </p>
  );
}

function CreditNotes({ notes, zone }: { notes: readonly Invoice[]; zone?: string }) {
  const { t, amount, date } = useText();
  return (
    <section className="card">
      <h2>{t('creditNotes')}</h2>
      {notes.map(note => (
        <div className="row" key={note.invoiceId}>
          <a href={note.sendPdf} target="_blank" rel="noreferrer">
            {note.number || note.invoiceId}
          </a>
          <span className="soft">{date(note.finishTime || note.createTime, zone)}</span>
          <span className="amount">{amount(note.totalAmount, note.currency)}</span>
        </div>
      ))}
    </section>
  );
}
