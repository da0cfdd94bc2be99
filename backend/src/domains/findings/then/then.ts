/** The findings that were open at a time of the past. */
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import { findingList, type WorstFinding } from '#contract/findings/findings.ts'
import { type FindingKind, type FindingObject, kindsOfFindings } from '#contract/findings/kinds.ts'
import {
  findingListPast,
  notRecordedOfFindings,
  type PastFinding,
} from '#contract/findings/past-finding.ts'
import { memoryPage, type MemoryReaders } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import type { Db } from '../../../db/db.ts'
import { Serialised } from '../../../http/serve.ts'
import type { Past } from '../../history/api.ts'
import * as store from './store-then.ts'

const rankOf = ({ kind }: Pick<PastFinding, 'kind'>): number => kindsOfFindings.indexOf(kind)

const shownOf = (row: store.ThenRow): PastFinding => ({
  id: row.id,
  kind: row.kind as FindingKind,
  severity: row.severity,
  object: { kind: row.object_kind, id: row.object_id, name: row.object_name },
  cluster:
    row.cluster_id !== null && row.cluster_name !== null
      ? { id: row.cluster_id, name: row.cluster_name }
      : null,
  datacenter:
    row.datacenter_id !== null && row.datacenter_code !== null
      ? { id: row.datacenter_id, code: row.datacenter_code }
      : null,
  since: row.since?.toISOString() ?? null,
  reason: row.reason,
  remedies: null,
  acknowledged: null,
  affected: null,
  caused_by: null,
  ended_at: null,
  count: null,
})

const isOf = (wanted: string, id: string | undefined, name: string | undefined): boolean =>
  wanted === id || wanted === name

const readers: MemoryReaders<typeof findingList.list, PastFinding> = {
  sort: {
    severity: rankOf,
    object: ({ object }) => object.name,
    since: ({ since }) => since,
    ended_at: () => null,
  },
  filters: {
    severity: (one, severity) => one.severity === severity,
    kind: (one, kind) => one.kind === kind,
    object: (one, id) => one.object.id === id,
    cluster: ({ cluster }, wanted) => isOf(wanted, cluster?.id, cluster?.name),
    datacenter: ({ datacenter }, wanted) => isOf(wanted, datacenter?.id, datacenter?.code),
    ended: (_one, ended) => ended === 'false',
    incident: () => false,
  },
  search: ({ object, cluster, datacenter, reason }, text) =>
    [object.name, cluster?.name, datacenter?.code, reason].some((value) =>
      value?.toLowerCase().includes(text),
    ),
  // What clusters need comes before free servers.
  ties: [({ cluster }) => (cluster === null ? 1 : 0), ({ object }) => object.name, ({ id }) => id],
}

/** @throws Problem bad_request: the history doesn't record it */
function refuse(filter: string, what: string): never {
  const reason = `The history doesn't record ${what}: the filter can't be used for the past`
  throw new Problem('bad_request', reason, { [filter]: reason })
}

export interface FindingsThen {
  /** All findings that were open, the worst first. */
  readonly open: (at: Date) => Promise<readonly PastFinding[]>
  /** What each server and cluster showed, by the object's id. */
  readonly worst: (at: Date) => Promise<ReadonlyMap<string, WorstFinding>>
  /** @throws Problem bad_request, before_history */
  readonly page: (
    query: Input<typeof findingList>['query'],
    at: string,
    visible: readonly FindingObject[],
  ) => Promise<Serialised>
}

export function findingsThen(db: Db, past: Pick<Past, 'demand'>): FindingsThen {
  const open = async (at: Date): Promise<readonly PastFinding[]> =>
    (await store.openThen(db, at)).map(shownOf).toSorted((a, b) => rankOf(a) - rankOf(b))
  return {
    open,
    async worst(at) {
      const worst = new Map<string, WorstFinding>()
      for (const { id, kind, severity, object, since, reason } of await open(at))
        if (!worst.has(object.id))
          worst.set(object.id, {
            id,
            kind,
            severity,
            since: since ?? at.toISOString(),
            reason: reason ?? '',
          })
      return worst
    },
    async page(query, at, visible) {
      const time = new Date(at)
      if (query.ended === 'true') refuse('ended', 'which findings had ended')
      if (query.incident !== undefined) refuse('incident', 'the incident of a finding')
      await past.demand(time)
      const rows = (await open(time)).filter(({ object }) => visible.includes(object.kind))
      const answer = z.parse(findingListPast.answer, {
        ...memoryPage(findingList.list, rows, readers, query),
        at: time.toISOString(),
        not_recorded: notRecordedOfFindings,
      })
      return new Serialised(JSON.stringify(answer))
    },
  }
}
