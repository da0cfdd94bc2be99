/** Which finding a server or a cluster shows in lists and headers: the worst one about it. Pure. */
import type { StoppedUpgrade, WorstFinding } from '#contract/findings/findings.ts'
import { findingKinds, kindsOfFindings } from '#contract/findings/kinds.ts'
import type { Judged } from './judged.ts'

/** What is stored of a finding. */
export interface Kept {
  readonly id: string
  readonly since: Date
  readonly reason: string
  /** It began anew while it was open. */
  readonly isAnew?: true
}

/** By the object's id. A server that a finding about several names shows that finding. */
export function shownOf(kept: ReadonlyMap<Judged, Kept>): {
  readonly server: ReadonlyMap<string, WorstFinding>
  readonly cluster: ReadonlyMap<string, WorstFinding>
  readonly upgrade: ReadonlyMap<string, StoppedUpgrade>
} {
  const shown = {
    server: new Map<string, WorstFinding>(),
    cluster: new Map<string, WorstFinding>(),
    upgrade: new Map<string, StoppedUpgrade>(),
  }
  const rankOf = ({ kind }: Pick<WorstFinding, 'kind'>) => kindsOfFindings.indexOf(kind)
  for (const [{ kind, object, affected = [], upgrade }, { id, since, reason }] of kept) {
    const { severity } = findingKinds[kind]
    const show = (to: Map<string, WorstFinding>, objectId: string, at: Date) => {
      const other = to.get(objectId)
      if (other === undefined || rankOf({ kind }) < rankOf(other))
        to.set(objectId, { id, kind, severity, since: at.toISOString(), reason })
    }
    if (upgrade) shown.upgrade.set(object.id, upgrade)
    if (object.kind === 'server' || object.kind === 'cluster')
      show(shown[object.kind], object.id, since)
    for (const server of affected) show(shown.server, server.id, server.since)
  }
  return shown
}
