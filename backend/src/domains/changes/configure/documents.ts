/**
 * Moves the configurations of a cluster's servers to the documents of Talos 1.14, one server at a
 * time. Talos never does it by itself, and reads the older form for good. A server that has its
 * documents keeps them, so a change that was stopped leaves the cluster half way, and the next one
 * goes on.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { Problem } from '#contract/errors.ts'
import { has, since } from '#talos/versions.ts'
import { isForNow } from '../../../for-now.ts'
import { system } from '../../../http/caller.ts'
import type { MoveRehearsal } from '../../configurations/api.ts'
import { clusterRows, isInDocuments, type MemberRow, updateCluster } from '../../clusters/api.ts'
import { listed } from '../../../sentences.ts'
import { check, checkEtcd, etcdReports, forNowIf, isWanted } from '../../control-planes/api.ts'
import { type ChangeKind, type ChangeView } from '../frame.ts'
import {
  checkReachable,
  type Sending,
  sendingSteps,
  serverGroup,
  takingBack,
  workersFirst,
} from './servers.ts'

type Change = ChangeOf<'documents'>
type Asked = { readonly m: MemberRow } & (
  | { readonly rehearsal: MoveRehearsal }
  | { readonly problem: string; readonly isSilent: boolean }
)

const first = since.kubernetesDocuments

/** What the move does on a server, or why it can't be made there. */
async function rehearse({ parts }: ChangeView, m: MemberRow): Promise<Asked> {
  try {
    const rehearsal = await parts.configurations.rehearseMove(m.node_id)
    const { kind, reason } = rehearsal.verdict
    if (rehearsal.differs.length > 0)
      return {
        m,
        problem: `${m.name}: its documents would not mean the same (${listed(rehearsal.differs, 6)})`,
        isSilent: false,
      }
    if (kind === 'no_reboot') return { m, rehearsal }
    return {
      m,
      problem: kind === 'not_allowed' ? `${m.name}: Talos refuses it: ${reason}` : reason,
      isSilent: kind === 'unknown',
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { m, problem: error.message, isSilent: isForNow(error) }
  }
}

/** Check: every server runs a Talos that knows the documents. */
function checkVersions({ facts }: ChangeView, members: readonly MemberRow[]) {
  const old = members.filter((m) => {
    const version = facts.get(m.node_id)?.talos_version ?? null
    return version === null || !has(version, 'kubernetesDocuments')
  })
  return check(
    'versions',
    old.length === 0,
    old.length === 0
      ? `Every server runs Talos ${first} or newer`
      : `${listed(old.map((m) => m.name))} ${old.length === 1 ? 'does' : 'do'} not run Talos ${first} yet, which has these documents: upgrade Talos first`,
    [{ change: 'upgradeTalos', node_id: null, name: null }],
  )
}

/** What stays in the main document, for each server alike once. */
function stayWarnings(tried: readonly (Asked & { readonly rehearsal: MoveRehearsal })[]): string[] {
  const all = tried.flatMap(({ m, rehearsal }) =>
    rehearsal.stays.map(({ path, why }) => ({
      name: m.name,
      what: `${path} stays, because ${why}`,
    })),
  )
  return [...Map.groupBy(all, (one) => one.what)].map(
    ([what, some]) => `${listed(some.map(({ name }) => name))}: ${what}`,
  )
}

const asBefore: Sending<Change>['takeBack'] = (tx, { state }, nodeId) =>
  clusterRows.updateMember(tx, state.row.id, nodeId, { is_moved: false }).then(() => undefined)

export const documents: ChangeKind<Change> = {
  async plan(view) {
    const { row, members } = view.state
    const here = workersFirst(members)
    const left = here.filter((m) => !isInDocuments(row, m))
    const checks = [
      check(
        'changes',
        left.length > 0,
        left.length > 0
          ? `${left.length} of ${here.length} servers have their configuration in the older form`
          : 'Every server has its configuration in documents already',
      ),
      checkVersions(view, here),
      checkReachable(left, view.facts),
    ]
    if (checks.some((c) => !c.ok)) return { checks, groups: [] }
    const asked: Asked[] = []
    for (const m of left) asked.push(await rehearse(view, m))
    const refusals = asked.flatMap((a) => ('problem' in a ? [a] : []))
    const refused = refusals.map((a) => a.problem)
    const tried = asked.flatMap((a) => ('rehearsal' in a ? [a] : []))
    return {
      checks: [
        ...checks,
        forNowIf(
          refusals.every((a) => a.isSilent),
          check(
            'dry-run',
            refused.length === 0,
            refused.length === 0
              ? "The documents mean the same, and Talos accepts them (each server's own dry run)"
              : refused.slice(0, 3).join('. '),
          ),
        ),
        checkEtcd(await etcdReports(view)),
      ],
      warnings: [
        `Talos before ${first} can't read these documents: afterwards no server can be rolled back to an older Talos`,
        'The kubelet and the components of each control plane start again, one server at a time; workload keeps running',
        ...stayWarnings(tried),
      ],
      groups: tried.map(({ m }) => serverGroup(m, 'no')),
      differences: tried.map(({ m, rehearsal }) => ({
        node_id: m.node_id,
        name: m.name,
        diff: rehearsal.diff,
      })),
    }
  },

  touches: ['configure'],
  takeBack: takingBack<Change>(asBefore),
  steps: sendingSteps<Change>({
    before: (tx, { state }, nodeId) =>
      clusterRows.updateMember(tx, state.row.id, nodeId, { is_moved: true }).then(() => undefined),
    takeBack: asBefore,
  }),

  async end(tx, { parts, state }) {
    const members = (await clusterRows.members(tx, state.row.id)).filter(isWanted)
    // Servers that join later get documents as well.
    if (members.every((m) => isInDocuments(state.row, m)))
      await updateCluster(parts, tx, system, state.row.id, { is_moved: true })
  },
}
