/** What a judgement says of an object, before it is stored. */
import type { StoppedUpgrade } from '#contract/findings/findings.ts'
import type { FindingKind, FindingObject } from '#contract/findings/kinds.ts'

/** Names another finding. */
export type Ref = Pick<Judged, 'kind'> & { readonly objectId: string }

export interface Judged {
  readonly kind: FindingKind
  readonly object: { readonly kind: FindingObject; readonly id: string; readonly name: string }
  readonly cluster: { readonly id: string; readonly name: string } | null
  readonly datacenter: { readonly id: string; readonly code: string } | null
  /** Null if nobody recorded when it began: it begins with the judgement. */
  readonly since: Date | null
  readonly reason: string
  /** The operation that stopped. */
  readonly operationId?: string
  readonly upgrade?: StoppedUpgrade
  readonly causedBy?: Ref
  /** Other findings that are part of the same incident. */
  readonly joins?: readonly Ref[]
  /** What findings of the kind have in common: they are one incident. */
  readonly cause?: string
  readonly affected?: readonly Affected[]
}

/** What is said of an object that is known. */
export type Said = Pick<Judged, 'kind' | 'since' | 'reason'> &
  Partial<Pick<Judged, 'operationId' | 'causedBy' | 'joins' | 'upgrade'>>

/** A server that a finding about several concerns. */
export interface Affected {
  readonly id: string
  readonly name: string
  readonly since: Date
}

/** Names a finding that is open. At most one is, for each object and kind. */
export const keyOf = ({ kind, objectId }: { kind: string; objectId: string }): string =>
  `${kind} ${objectId}`

export const refTo = ({ kind, object }: Pick<Judged, 'kind' | 'object'>): Ref => ({
  kind,
  objectId: object.id,
})

/** `21:38 UTC` */
export const clockTime = (at: Date): string => `${at.toISOString().slice(11, 16)} UTC`

/** The sentence ends with exactly one full stop. */
export const sentence = (text: string): string => `${text.replace(/\.$/, '')}.`
