import type { Attempt } from './attempts.js';
import { limits as leases } from './claims.js';
import type { Sealed } from './endpoints.js';

/**
 * Requests that are under way at once, in one process. An endpoint that keeps failing has one, and all of those
 * together have `toFailing`. While more than half of all, or of its merchant's, are taken, one that did not answer
 * quickly the last time has one as well. So neither those that fail nor those that are slow take what the others need.
 */
const limits = { inFlight: 512, perMerchant: 256, perEndpoint: 8, toFailing: 128 } as const;

/** What is under way to the endpoints of one merchant. */
export interface Desk {
  readonly merchantId: number;
  /** Endpoints that may have something due. */
  readonly hungry: Set<Lane>;
  lanes: number;
  inFlight: number;
  /** What is to be recorded, and how much of it in one transaction. */
  ended: { lane: Lane; attempt: Attempt }[];
  batch: number;
}

/** What is under way to one endpoint. */
export interface Lane {
  readonly desk: Desk;
  readonly endpointId: number;
  inFlight: number;
  /** Claimed and not recorded: those in flight, and those that have ended since. */
  leased: number;
  /** It failed so often that it is tried by one request at a time. */
  failing: boolean;
  /** The last request succeeded at once. */
  quick: boolean;
  secrets: { sealed?: Sealed; open: readonly string[] };
  /** Resolves when nothing is under way, and nothing more is known to be due. */
  readonly idle: Promise<void>;
  readonly rest: () => void;
}

/** Who is being sent to, and who may be sent how much more. */
export class Lanes {
  private readonly desks = new Map<number, Desk>();
  private readonly lanes = new Map<number, Lane>();
  /** Desks that found no request free. */
  private starved = new Set<Desk>();
  private inFlight = 0;
  private toFailing = 0;

  constructor(private readonly batch: number) {}

  get all(): Lane[] {
    return [...this.lanes.values()];
  }

  /** The lane of an endpoint, kept for as long as something is under way. */
  of(merchantId: number, endpointId: number): Lane {
    const known = this.lanes.get(endpointId);
    if (known) return known;
    const desk = this.desks.get(merchantId) ?? {
      merchantId,
      hungry: new Set<Lane>(),
      lanes: 0,
      inFlight: 0,
      ended: [],
      batch: this.batch,
    };
    this.desks.set(merchantId, desk);
    desk.lanes++;
    let rest = () => {};
    const idle = new Promise<void>(resolve => {
      rest = resolve;
    });
    const lane: Lane = {
      desk,
      endpointId,
      inFlight: 0,
      leased: 0,
      failing: false,
      quick: false,
      secrets: { open: [] },
      idle,
      rest,
    };
    this.lanes.set(endpointId, lane);
    return lane;
  }

  closeIfIdle(lane: Lane): void {
    const { desk, endpointId } = lane;
    if (lane.inFlight > 0 || lane.leased > 0 || desk.hungry.has(lane) || !this.lanes.delete(endpointId)) return;
    if (--desk.lanes === 0) this.desks.delete(desk.merchantId);
    lane.rest();
  }

  /** Counts requests as under way, or no longer so. */
  take(lane: Lane, by: number): void {
    lane.inFlight += by;
    lane.desk.inFlight += by;
    this.inFlight += by;
    if (lane.failing) this.toFailing += by;
  }

  /** Whether a lane is failing changes what its requests count as. */
  setFailing(lane: Lane, failing: boolean): void {
    if (failing !== lane.failing) this.toFailing += failing ? lane.inFlight : -lane.inFlight;
    lane.failing = failing;
  }

  /** How many more requests may go to which of a merchant's endpoints, those first that had their turn longest ago. */
  rooms(desk: Desk): Map<Lane, number> {
    const rooms = new Map<Lane, number>();
    let free = Math.min(limits.inFlight - this.inFlight, limits.perMerchant - desk.inFlight);
    let probes = limits.toFailing - this.toFailing;
    let untilBusy = Math.min(limits.inFlight / 2 - this.inFlight, limits.perMerchant / 2 - desk.inFlight);
    for (const lane of desk.hungry) {
      const wanted = roomOf(lane, untilBusy <= 0);
      if (wanted <= 0) continue;
      const room = Math.min(wanted, free, lane.failing ? probes : free);
      if (room <= 0) {
        this.starved.add(desk);
        continue;
      }
      rooms.set(lane, room);
      free -= room;
      untilBusy -= room;
      if (lane.failing) probes -= room;
    }
    return rooms;
  }

  /** The desks that have found no request free since this was last asked. */
  takeStarved(): ReadonlySet<Desk> {
    const starved = this.starved;
    if (starved.size > 0) this.starved = new Set();
    return starved;
  }
}

function roomOf(lane: Lane, busy: boolean): number {
  if (lane.failing) return 1 - lane.leased;
  const atOnce = busy && !lane.quick ? 1 : limits.perEndpoint;
  return Math.min(atOnce - lane.inFlight, leases.leased - lane.leased);
}
