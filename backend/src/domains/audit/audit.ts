/**
 * The audit log: who did what to which object, when, from where, with what result. Append-only;
 * `verify/` detects edited, removed, added and moved entries.
 */
import {
  auditCsv,
  auditCsvColumns,
  type AuditEntry,
  auditGet,
  type AuditHead,
  auditList,
  auditNdjson,
  type AuditRow,
  auditSentence,
  auditVerify,
  readAuditHead,
} from '#contract/audit.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { writeCsv } from '../../csv/csv.ts'
import { inTransaction } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'
import { serve, serveStream, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import { openChain } from '../events/api.ts'
import type { Audit, ChainVerdict } from './api.ts'
import * as store from './store.ts'
import { checkChain } from './verify/chain-check.ts'
import { checking } from './verify/checking.ts'

type AuditParts = Pick<Platform, 'db' | 'database' | 'vault' | 'log' | 'record'>

const present = (row: store.AuditRow): AuditEntry => ({
  seq: row.seq,
  at: row.at.toISOString(),
  actor: row.actor_kind === 'anonymous' ? null : row.actor_name,
  session_id: row.session_id,
  by_token: row.actor_kind === 'token',
  ip: row.ip,
  action: row.action,
  target:
    row.target_kind === null
      ? null
      : { kind: row.target_kind, id: row.target_id, name: row.target_name },
  result: row.outcome,
  before: row.before as Record<string, unknown> | null,
  after: row.after as Record<string, unknown> | null,
  request_id: row.request_id,
  hash: row.hash,
})

/**
 * The operation that an action has started: the id that `operations.create` writes into the entry.
 */
const startedBy = (after: unknown): string | null =>
  typeof after === 'object' &&
  after !== null &&
  'operation' in after &&
  typeof after.operation === 'string'
    ? after.operation
    : null

/** Characters of an export that are sent at once, or one entry that is longer. */
const partLength = 256 * 1024

const cellsOf = (
  e: AuditEntry,
): Record<(typeof auditCsvColumns)[number], string | number | boolean | object | null> => ({
  ...e,
  target_kind: e.target?.kind ?? null,
  target_id: e.target?.id ?? null,
  target_name: e.target?.name ?? null,
})
const cell = (value: string | number | boolean | object | null): string =>
  value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)

interface Format {
  /** Precedes the entries. */
  readonly head: string
  readonly line: (entry: AuditEntry) => string
}
const formats: Readonly<Record<'csv' | 'ndjson', Format>> = {
  csv: {
    head: writeCsv([auditCsvColumns]),
    line(entry) {
      const cells = cellsOf(entry)
      return writeCsv([auditCsvColumns.map((column) => cell(cells[column]))])
    },
  },
  ndjson: { head: '', line: (entry) => `${JSON.stringify(entry)}\n` },
}

type Matching = Input<typeof auditCsv>['query']

/**
 * Verifies the whole chain on this thread, for the commands of the program. `noted`: an entry
 * recorded elsewhere; the chain must contain it.
 */
export const verifyAudit = (
  { db, vault }: Pick<AuditParts, 'db' | 'vault'>,
  noted?: AuditHead,
): Promise<ChainVerdict> =>
  checkChain(db, { open: (tx, sealed) => openChain(vault, tx, sealed), noted })

export function audit({ record, ...parts }: AuditParts): Audit & Domain {
  const { db } = parts
  const check = checking(parts)
  const list = async (query: Input<typeof auditList>['query']): Promise<Page<AuditRow>> => {
    const { rows, total } = await store.page(db, query)
    const items = rows.map((row) => ({ ...present(row), shortened: row.shortened }))
    return { items, page: query.page, per_page: query.per_page, total }
  }

  /**
   * Yields the matching entries that exist now as text, oldest first, a batch at a time. The
   * export is recorded.
   */
  async function* exported(
    caller: UserCaller,
    format: keyof typeof formats,
    query: Matching,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    const upTo = await store.last(db)
    const target = { kind: 'audit', id: 'log', name: 'Audit log' }
    await inTransaction(db, (tx) =>
      record(tx, caller, { action: 'audit.exported', target, after: { format, ...query } }),
    )
    const { head, line } = formats[format]
    yield head
    let part = ''
    for await (const row of store.matching(db, query, upTo)) {
      if (signal.aborted) return
      part += line(present(row))
      if (part.length < partLength) continue
      yield part
      part = ''
    }
    if (part !== '') yield part
  }

  /** Verifies the whole chain on another thread. Yields lines of JSON (`AuditCheck`). */
  async function* verifying(
    noted: AuditHead | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    for await (const state of check(noted, signal)) yield `${JSON.stringify(state)}\n`
  }

  return {
    name: 'audit',
    routes(app) {
      serve(app)(auditList, ({ query }) => list(query))
      serve(app)(auditGet, async ({ params }) => {
        const row = await store.one(db, params.seq)
        if (!row) throw new Problem('not_found', 'There is no such entry')
        return present(row)
      })
      const stream = serveStream(app, { isWhole: true })
      stream(auditCsv, ({ caller, query, saveAs, signal }) => {
        saveAs('audit.csv')
        return exported(signedIn(caller), 'csv', query, signal)
      })
      stream(auditNdjson, ({ caller, query, saveAs, signal }) => {
        saveAs('audit.ndjson')
        return exported(signedIn(caller), 'ndjson', query, signal)
      })
      stream(auditVerify, ({ query, signal }) =>
        verifying(query.head === undefined ? undefined : readAuditHead(query.head), signal),
      )
    },
    events: async ({ kind, id }, limit) =>
      (await store.ofTarget(db, kind, id, limit)).map(
        ({ seq, at, action, actor_name, outcome, after }) => {
          const sentence = auditSentence(action, after as Record<string, unknown> | null)
          const message = outcome === 'ok' ? sentence : `${sentence}: refused (${outcome})`
          return {
            id: `audit-${seq}`,
            at: at.toISOString(),
            type: action,
            message,
            by: actor_name,
            operation_id: startedBy(after),
          }
        },
      ),
    verify: (noted) => verifyAudit(parts, noted),
  }
}
