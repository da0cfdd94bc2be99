/**
 * Why a call to a BMC failed. The message is a sentence for users without its full stop; what the
 * BMC wrote in it is short, printable and without the password.
 */
export type RedfishErrorKind =
  /** No connection, or no whole answer in time. */
  | 'unreachable'
  /** Another certificate than the pinned one. Nothing was sent. */
  | 'certificate'
  /** It refuses the user name or the password, or the account is locked. */
  | 'denied'
  /** The account lacks a privilege. */
  | 'forbidden'
  /** It is busy: the same call may succeed later. */
  | 'busy'
  | 'not_found'
  /** The document has changed since it was read (412). */
  | 'stale'
  /** It refuses the call for another reason. */
  | 'refused'
  /** What it answers breaks a rule of this client: too long, no JSON, a redirect, a foreign link. */
  | 'unreadable'
  /** It speaks no Redfish. */
  | 'unsupported'

export class RedfishError extends Error {
  override readonly name = 'RedfishError'
  readonly kind: RedfishErrorKind
  /** Status of HTTP, if there was an answer. */
  readonly status: number | null
  constructor(
    kind: RedfishErrorKind,
    message: string,
    { status = null, cause }: { status?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.kind = kind
    this.status = status
  }
}
