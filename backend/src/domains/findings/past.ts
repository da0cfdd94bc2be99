/**
 * What the history keeps of findings: when they begin and end. Channels and Steelyard itself have no
 * history: the audit log has their backups and messages.
 */
import { historyObjects } from '#contract/history/kind-names.ts'
import type { Happened } from '../../history.ts'
import type { FindingRow } from './store.ts'

export const past = ({
  id,
  kind,
  severity,
  object_kind,
  object_id,
  object_name,
  cluster_id,
  cluster_name,
  operation_id,
  reason,
  ended_at,
}: Omit<FindingRow, 'affected'>): Happened[] =>
  historyObjects
    .filter((of) => of === object_kind)
    .map((of) => ({
      kind: ended_at === null ? 'finding_began' : 'finding_ended',
      object: { kind: of, id: object_id, name: object_name },
      cluster:
        cluster_id !== null && cluster_name !== null
          ? { id: cluster_id, name: cluster_name }
          : null,
      operation: operation_id,
      after: { finding: kind, finding_id: id, severity, reason },
    }))
