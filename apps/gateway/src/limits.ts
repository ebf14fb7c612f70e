import { patient } from '@recur/platform';

/** Limits of one request, one connection and one replica, in the units of their names. */
export const gatewayLimits = {
  bodyBytes: 1_048_576,
  /** Largest body of an operation that needs no credential. */
  anonymousBodyBytes: 16_384,
  /** Callbacks larger than that, received or answered at a time: in all, and from one address. */
  largeCallbacks: 64,
  largeCallbacksOfAddress: 8,
  bodyDepth: 64,
  /** Members of all objects and entries of all lists in a body. */
  bodyMembers: 10_000,
  /** A body costs one token of the rate limit for each. */
  bytesPerToken: 16_384,
  /** And one more for each so many members: parsing and checking them costs as much as bytes do. */
  membersPerToken: 20,
  headerBytes: 16_384,
  tokenBytes: 4_096,
  /** Time from the end of a request body to the response; clients should wait a little longer. */
  deadlineMs: patient(8_000),
  headersMs: 10_000,
  requestMs: 20_000,
  inFlight: 4_096,
  /** Room for what the bus adds to a command: caller, trace, key. */
  commandHeaderBytes: 4_096,
  rememberedCredentials: 10_000,
  buckets: 20_000,
  /** E-mails and addresses that are remembered for the limits of sign-ins. */
  signInBuckets: 100_000,
  retryAfterSeconds: 1,
  /** Length of the header that names ignored fields. */
  ignoredChars: 1_000,
  /** While draining, a client has this long to send what it was about to send on an open connection. */
  idleGraceMs: 1_000,
  drainMs: 12_000,
} as const;
