/** Actions on subnets, for row menu, bulk bar and ⌘K. */
import { all, no, type Verdict, yes } from '#contract/rule.ts'
import {
  canRemoveSubnet,
  clusterSubnetsAssign,
  type Subnet,
  subnetRemove,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { type Action, confirm, showResults } from '../../../ui/actions.ts'
import type { Result } from '../../../ui/overlay/Results.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { refreshNetwork } from '../network-queries.ts'

/**
 * Whether a subnet can be assigned: an assigned workload subnet can't, a management subnet may be
 * shared.
 */
const canGive = (s: Pick<Subnet, 'purpose' | 'clusters'>): Verdict => {
  const [first] = s.clusters
  return s.purpose === 'workload' && first ? no(`It is assigned to ${first.name} already`) : yes
}
const removable = (s: Subnet): Verdict => all(allowed(subnetRemove), canRemoveSubnet(s))

export const subnetActions = (s: Subnet): Action[] => [
  allowed(subnetUpdate).ok
    ? { label: 'Edit', icon: 'edit', to: paths.editSubnet(s.id) }
    : { label: 'Edit', icon: 'edit', can: allowed(subnetUpdate) },
  {
    label: 'Assign to a cluster',
    icon: 'cluster',
    can: all(allowed(clusterSubnetsAssign), canGive(s)),
    to: paths.assignSubnets({ subnets: s.id }),
  },
  ...(s.clusters.length === 0
    ? [
        {
          label: 'Unassign',
          icon: 'minus',
          can: no('It is assigned to no cluster'),
        } satisfies Action,
      ]
    : s.clusters.map((c): Action => ({
        // A draining subnet can be removed at once, without waiting for the end of draining.
        label:
          s.status === 'draining' ? `Unassign from ${c.name} at once` : `Unassign from ${c.name}`,
        icon: 'minus',
        can: allowed(clusterSubnetsAssign),
        to: paths.assignSubnets({ cluster: c.id, remove: s.id, step: 'review' }),
      }))),
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: removable(s),
    run: () => removeSubnets([s]),
  },
]

/**
 * Yes if the rule allows the action for at least one subnet. Otherwise no, with the first subnet's
 * name and reason.
 */
function any(subnets: readonly Subnet[], judge: (s: Subnet) => Verdict): Verdict {
  if (subnets.some((s) => judge(s).ok)) return yes
  const verdict = subnets[0] ? judge(subnets[0]) : yes
  return verdict.ok || subnets.length === 1 ? verdict : no(`${subnets[0]!.name}: ${verdict.reason}`)
}

const together = (subnets: readonly Subnet[]): Verdict =>
  new Set(subnets.filter((s) => canGive(s).ok).map((s) => s.datacenter.id)).size > 1
    ? no(
        'The subnets are in several datacenters; a cluster can only use subnets of its own datacenter',
      )
    : yes

/** Actions on the selected subnets. `clear` empties the selection. */
export const bulkActions = (subnets: readonly Subnet[], clear: () => void): Action[] => [
  {
    label: 'Assign',
    icon: 'cluster',
    can: all(allowed(clusterSubnetsAssign), any(subnets, canGive), together(subnets)),
    to: paths.assignSubnets({ subnets: subnets.map((s) => s.id).join(',') }),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: any(subnets, removable),
    run: () => removeSubnets(subnets).then((done) => done && clear()),
  },
]

/**
 * Removes the removable subnets one after another, and reports the result of each if there are
 * several.
 */
function removeSubnets(subnets: readonly Subnet[]): Promise<boolean> {
  const one = subnets.length === 1 ? subnets[0] : undefined
  const kept = subnets.filter((s) => !canRemoveSubnet(s).ok).length
  return confirm({
    title: one ? `Remove ${one.name}?` : `Remove ${counted(subnets.length - kept, 'subnet')}?`,
    label: 'Remove',
    text: `${one ? `${one.cidr} can` : 'Their CIDRs can'} be added again at any time; nothing in a cluster changes.${kept > 0 ? ` ${kept} of the selected subnets ${kept === 1 ? 'stays: a cluster uses it' : 'stay: clusters use them'}.` : ''}`,
    danger: true,
    act: async () => {
      if (one) {
        await call(subnetRemove, { params: { id: one.id } }, { version: one.version })
        await refreshNetwork()
        toast.success(`${one.name} was removed`)
        return
      }
      const list: Result[] = []
      for (const s of subnets) list.push(await removed(s))
      await refreshNetwork()
      void showResults({ title: 'Removing subnets', results: list, done: 'Removed' })
    },
  })
}

async function removed(s: Subnet): Promise<Result> {
  const verdict = removable(s)
  if (!verdict.ok) return { name: s.name, ok: false, reason: verdict.reason }
  try {
    await call(subnetRemove, { params: { id: s.id } }, { version: s.version })
    return { name: s.name, ok: true, reason: null }
  } catch (error) {
    return { name: s.name, ok: false, reason: reasonOf(error) }
  }
}
