/** Racks that several control planes would share after a change. */
import { sharedRackWarnings } from '#contract/racks/spread.ts'
import { isWanted } from '../../control-planes/api.ts'
import type { ChangeView, PlannedGroup } from '../frame.ts'

/**
 * Warns of racks with several control planes, if the change adds a control plane to the cluster. In
 * such a change, a group of a member that says no role is that of a server that leaves.
 */
export async function sharedRacks(
  { parts, state, facts }: ChangeView,
  groups: readonly PlannedGroup[],
): Promise<string[]> {
  const added = groups.filter(({ becomes }) => becomes === 'control_plane')
  if (added.length === 0) return []
  const touched = new Set(groups.map(({ node_id }) => node_id))
  const staying = state.members.filter(
    (m) => m.role === 'control_plane' && isWanted(m) && !touched.has(m.node_id),
  )
  const joining = await parts.servers.forPlan(
    parts.db,
    added.flatMap(({ node_id }) => node_id ?? []),
  )
  return sharedRackWarnings([
    ...staying.flatMap(({ node_id }) => facts.get(node_id) ?? []),
    ...joining,
  ])
}
