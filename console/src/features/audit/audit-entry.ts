/** Texts of an audit entry, and the page of its object. */
import type { AuditEntry } from '#contract/audit.ts'
import { type ErrorCode, errors } from '#contract/errors.ts'
import { operationKinds, operationTable } from '#contract/operations.ts'
import { paths } from '../../lib/paths.ts'
import { sentence } from '../../lib/text.ts'
import type { Tone } from '../../ui/feedback/Status.tsx'

/** Path of the page of an entry's object; null if the object has no page. */
export function objectPage({ target }: Pick<AuditEntry, 'target'>): string | null {
  if (target === null || target.id === null) return null
  const { kind, id, name } = target
  const q = name ?? undefined
  const pages: Readonly<Record<string, () => string>> = {
    server: () => paths.server(id),
    cluster: () => paths.cluster(id),
    datacenter: () => paths.datacenters({ q }),
    subnet: () => paths.network({ q, open: id }),
    image: () => paths.prepareImage({ image: id }),
    join_token: () => paths.joinTokens({ q }),
    operation: () => paths.operation(id),
    cc: () => paths.cc(id),
    store: () => paths.stores({ q }),
    invitation: () => paths.invitations({ q }),
    waitlist: () => paths.waitlist({ q }),
    user: () => paths.users({ q }),
  }
  return Object.hasOwn(pages, kind) ? pages[kind]!() : null
}

/**
 * Name of an entry's object. Of an operation, whose name begins with its kind, its title: "Create
 * cluster poz-edge-04". Null if there is no object.
 */
export function objectSaid({ target }: Pick<AuditEntry, 'target'>): string | null {
  const name = target?.name ?? target?.id ?? null
  if (target?.kind !== 'operation' || name === null) return name
  const kind = operationKinds.find((k) => name.startsWith(`${k} `))
  return kind === undefined ? name : `${operationTable[kind].title}${name.slice(kind.length)}`
}

/** The operation that the action started, if it did. */
export const operationOf = ({ after }: Pick<AuditEntry, 'after'>): string | null =>
  typeof after?.['operation'] === 'string' ? after['operation'] : null

/**
 * Result of an action in words; `why`: the meaning of the refusal's code. An action such as
 * `operation.failed` records a failure, so it is none that was done.
 */
export function resultSaid({ action, result }: Pick<AuditEntry, 'action' | 'result'>): {
  tone: Tone
  word: string
  why: string | null
} {
  if (result === 'ok')
    return action.endsWith('failed')
      ? { tone: 'danger', word: 'Failed', why: null }
      : { tone: 'ok', word: 'Done', why: null }
  return {
    tone: 'warn',
    word: sentence(result),
    why: Object.hasOwn(errors, result) ? errors[result as ErrorCode].means : null,
  }
}

/** Who acted. */
export const actorSaid = ({ actor }: Pick<AuditEntry, 'actor'>): string => actor ?? 'Not signed in'
