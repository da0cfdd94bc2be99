import type { Refusal, RefusalKind } from './rule.ts'

/**
 * Every error code of the API, with its HTTP status and meaning. The use-case that throws the error
 * writes the sentence for the user. `forNow`: such a refusal may end by itself (`rule.ts`), unless
 * the use-case says otherwise.
 */
export const errors = {
  bad_request: { status: 400, means: 'The path, the query or the JSON text cannot be read.' },
  invalid_credentials: {
    status: 401,
    means:
      'Unknown email or wrong password; the response does not say which. Or a wrong code or passkey of a known account.',
  },
  session_expired: {
    status: 401,
    means:
      'No session, or the session has ended. Refresh the session once; if that fails, sign in.',
  },
  forbidden: { status: 403, means: 'The caller lacks the scope.' },
  second_factor_required: {
    status: 403,
    means: "The user's role requires a second factor. Add one, then refresh the session.",
  },
  not_found: { status: 404, means: 'No such object, or the caller is not allowed to see it.' },
  method_not_allowed: { status: 405, means: 'The path exists, but not with this method.' },
  conflict: { status: 409, means: 'The request conflicts with the current state of the object.' },
  name_taken: { status: 409, means: 'Another object already has this name.' },
  name_fixed: {
    status: 409,
    means:
      'The server is in a cluster, where its name is the name of the Kubernetes node and cannot change.',
  },
  server_in_cluster: {
    status: 409,
    means: 'The server is in a cluster, where this is not allowed.',
  },
  server_taken: { status: 409, means: 'Another cluster has reserved the server.' },
  server_not_in_cluster: {
    status: 409,
    means: 'Talos allows this only once the server is in a cluster.',
  },
  not_eligible: { status: 409, means: 'A check for joining a cluster failed.' },
  disk_not_confirmed: {
    status: 409,
    means:
      'A disk that has content or is removable would be wiped, but was not confirmed with its current content.',
  },
  loss_not_confirmed: {
    status: 409,
    means:
      'Steelyard would no longer reach a server after the change, and the loss was not confirmed by its name.',
  },
  transition_refused: {
    status: 409,
    means: 'The object cannot change from its current state to the requested one.',
  },
  identity_changed: {
    status: 409,
    means: 'The hardware that answered is not the hardware recorded for the server.',
  },
  patch_read_only: {
    status: 409,
    means: 'Steelyard writes this layer itself, so it cannot be changed.',
  },
  config_drifted: {
    status: 409,
    means:
      'The configuration of the machine was changed outside of Steelyard; keep or overwrite the changes first.',
  },
  held_by_files: {
    status: 409,
    means:
      'Only a set of files changes the cluster (`steelyard apply`). Release the cluster first, or change its files.',
  },
  cluster_not_ready: { status: 409, forNow: true, means: 'The cluster is not ready for this yet.' },
  operation_running: {
    status: 409,
    forNow: true,
    means: 'Another operation on the same object has not ended.',
  },
  operation_ended: {
    status: 409,
    means:
      'The operation has ended, so it cannot be cancelled, or did not fail, so it cannot be retried.',
  },
  finding_ended: {
    status: 409,
    means: 'The finding has ended, so nobody needs to take care of it.',
  },
  incident_ended: {
    status: 409,
    means: 'The incident has ended, so nobody needs to take care of it.',
  },
  datacenter_in_use: {
    status: 409,
    means: 'The datacenter still contains servers, clusters or subnets.',
  },
  subnet_overlap: { status: 409, means: 'The subnet overlaps another one; `related` names it.' },
  subnet_assigned: { status: 409, means: 'The subnet belongs to a cluster.' },
  subnet_in_use: { status: 409, means: 'Addresses of the subnet are in use.' },
  bmc_credential_in_use: { status: 409, means: 'A BMC uses the credential.' },
  bmc_not_ready: {
    status: 409,
    forNow: true,
    means:
      'The server has no BMC, or Steelyard does not speak to it now: it is not confirmed, does not answer, refuses the password or has changed.',
  },
  bmc_changed: {
    status: 409,
    means: 'The BMC shows another certificate, or tells other hardware, than the caller has seen.',
  },
  bmc_refused: { status: 409, means: 'The BMC refused the act.' },
  power_changed: {
    status: 409,
    means: 'The power of the server is not as the caller saw it.',
  },
  power_refused: {
    status: 409,
    forNow: true,
    means: 'Without the server, etcd of its cluster would lose its majority.',
  },
  store_in_use: { status: 409, means: 'A schedule or a snapshot uses the store.' },
  offer_exists: { status: 409, means: 'The cluster has an offer already.' },
  wrong_key: {
    status: 409,
    means: 'The signature was made with another key than that of the access address.',
  },
  last_admin: { status: 409, means: 'The last admin who can sign in must remain an admin.' },
  link_over: {
    status: 409,
    means:
      'A link to set a password or to accept an invitation was used already, has expired, or was replaced.',
  },
  proof_needed: {
    status: 409,
    means:
      'The last proof of identity (password, passkey, identity provider) is older than 15 minutes. Prove it again with `sessionProve`, then repeat the call.',
  },
  second_factor_needed: {
    status: 409,
    means: 'The password is right. Send it again with `code`, or sign in with a passkey.',
  },
  challenge_over: {
    status: 409,
    means:
      'The challenge of a passkey or of an offer, or the sign-in at the identity provider, is unknown, was used already or has expired. Start again.',
  },
  provider_refused: {
    status: 409,
    means:
      'The identity provider refused the sign-in, or its answer is not valid or lacks something.',
  },
  user_exists: { status: 409, means: 'A user with this email exists.' },
  idempotency_running: {
    status: 409,
    forNow: true,
    means: 'The first request with this Idempotency-Key has not been answered yet.',
  },
  stale: { status: 412, means: 'The object has changed since the caller read it (`If-Match`).' },
  too_large: { status: 413, means: 'The body is larger than the call allows.' },
  unsupported_media: { status: 415, means: 'The body is not application/json.' },
  invalid: {
    status: 422,
    means: 'The body violates its schema or a rule; `fields` lists the problems.',
  },
  before_history: {
    status: 422,
    means: 'The history does not reach back to the time in `at`; the sentence says when it begins.',
  },
  idempotency_mismatch: { status: 422, means: 'The Idempotency-Key was used with another body.' },
  factory_refused: { status: 422, means: 'The image factory refused the request.' },
  store_refused: {
    status: 422,
    means:
      'The store can not be used: it does not answer, refuses the access key, or lost data that was written to it.',
  },
  dial_refused: { status: 422, means: 'The address is not in a network that may be dialled.' },
  throttled: {
    status: 429,
    forNow: true,
    means: 'Too many attempts; `Retry-After` says when to retry.',
  },
  internal: { status: 500, means: 'An internal error. The log has details under the request id.' },
  provider_unreachable: {
    status: 503,
    forNow: true,
    means: 'The identity provider did not answer, or its answer could not be read.',
  },
  factory_unreachable: {
    status: 503,
    forNow: true,
    means: 'The image factory did not answer, or its response was invalid.',
  },
  bmc_unreachable: {
    status: 503,
    forNow: true,
    means: 'The BMC did not answer.',
  },
  server_unreachable: {
    status: 503,
    forNow: true,
    means: 'The server did not answer, so the requested information is unknown.',
  },
  unavailable: {
    status: 503,
    forNow: true,
    means: 'The database is unavailable or the load is too high; `Retry-After` says when to retry.',
  },
} as const satisfies Record<string, { status: number; means: string; forNow?: true }>

export type ErrorCode = keyof typeof errors
const kindOf = (code: ErrorCode): RefusalKind => ('forNow' in errors[code] ? 'for_now' : 'final')

export const relatedKinds = ['subnet', 'cluster', 'server'] as const
/** The object that blocks the call, for a link to it. */
export interface Related {
  readonly kind: (typeof relatedKinds)[number]
  readonly id: string
  readonly name: string
}

/** The body of every error response. */
export interface ErrorBody {
  error: string
  code: ErrorCode
  fields?: Record<string, string>
  related?: Related
  /** The refusal may end by itself: the same call may succeed later. */
  for_now?: true
  request_id: string
}

/**
 * Thrown by use-cases and sent as `{error, code, fields?, related?, for_now?, request_id}`. Any other error
 * is a 500 without details.
 */
export class Problem extends Error {
  readonly code: ErrorCode
  /** Sentences for forms, by field path. */
  readonly fields: Readonly<Record<string, string>> | undefined
  /** Seconds until the same call may succeed, for `Retry-After`. */
  readonly retryAfterSeconds: number | undefined
  /** The object that conflicts with the request. */
  readonly related: Related | undefined
  /** Whether the refusal may end by itself (`rule.ts`). By default its code says so. */
  readonly kind: RefusalKind

  constructor(
    code: ErrorCode,
    message: string,
    fields?: Record<string, string>,
    retryAfterSeconds?: number,
    related?: Related,
    kind: RefusalKind = kindOf(code),
  ) {
    super(message)
    this.name = 'Problem'
    this.code = code
    this.fields = fields
    this.retryAfterSeconds = retryAfterSeconds
    this.related = related
    this.kind = kind
  }

  /** A rule's refusal, with its sentence and its kind. */
  static of(code: ErrorCode, { reason, kind = 'final' }: Refusal): Problem {
    return new Problem(code, reason, undefined, undefined, undefined, kind)
  }
}
