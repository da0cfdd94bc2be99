/**
 * Changes patches on running servers, one server at a time. Talos's own dry run says which servers
 * restart.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { patchMask } from '#contract/patches.ts'
import { Problem } from '#contract/errors.ts'
import { isForNow } from '../../../for-now.ts'
import {
  type Beside,
  type LayerSet,
  missingLink,
  type Rehearsal,
} from '../../configurations/api.ts'
import { listed } from '../../../sentences.ts'
import type { MemberRow } from '../../clusters/api.ts'
import { type ChangeKind, type ChangeView } from '../frame.ts'
import { check, checkAlarms, checkEtcd, etcdReports, forNowIf } from '../../control-planes/api.ts'
import { openChange, sealWithBefore, setsOf } from './before.ts'
import { checkReachable, sendingSteps, serverGroup, takingBack, workersFirst } from './servers.ts'

type Change = ChangeOf<'configure'>
/** How many dry runs are requested at once. */
const atOnce = 4

/** The named servers in the given order; by default all of them. */
function chosenOf(
  { state }: Pick<ChangeView, 'state'>,
  { node_ids, mends }: Change,
): { chosen: MemberRow[]; strange: number } {
  const illFirst = (members: readonly MemberRow[]): MemberRow[] =>
    members.toSorted((a, b) => Number(mends.includes(b.name)) - Number(mends.includes(a.name)))
  const here = workersFirst(state.members)
  if (node_ids === undefined) return { chosen: illFirst(here), strange: 0 }
  const chosen = [...new Set(node_ids)].flatMap((id) => here.find((m) => m.node_id === id) ?? [])
  return { chosen: illFirst(chosen), strange: new Set(node_ids).size - chosen.length }
}

/** Why the change itself is invalid, or null. */
function problemOf({ patches, remove, take_back, roll_out }: Change): string | null {
  const names = [...patches.map((p) => p.name), ...remove]
  if (roll_out !== undefined)
    return names.length === 0 && take_back === undefined
      ? null
      : 'A roll-out of a shared patch has no patches of its own'
  if (take_back !== undefined)
    return names.length === 0 ? null : 'A change that takes another back has no patches of its own'
  if (names.length === 0) return 'Name a patch to add, to change or to remove'
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) return `The patch ${twice} is named twice`
  const hidden = patches.find((p) => p.body.includes(patchMask))
  return hidden
    ? `The patch ${hidden.name} contains ${patchMask} in place of a secret: enter the secret itself`
    : null
}

type Asked = { readonly m: MemberRow } & (
  | { readonly rehearsal: Rehearsal }
  | { readonly problem: string; readonly isSilent: boolean }
)

/** Of how many servers the patches are held against those of the others. */
const mostBeside = 20

async function rehearse(
  { parts, signal }: ChangeView,
  members: readonly MemberRow[],
  setOf: (nodeId: string) => Promise<LayerSet>,
): Promise<Asked[]> {
  const waiting = [...members]
  const bodies: Beside[] = []
  for (const { name, node_id } of members.slice(0, mostBeside)) {
    const { patches, shared = [] } = await setOf(node_id)
    const given = [...patches, ...shared.flatMap(({ layer }) => layer ?? [])]
    bodies.push(...given.map(({ body }) => ({ by: name, body })))
  }
  const asked = new Map<string, Asked>()
  const one = async (): Promise<void> => {
    for (let m = waiting.shift(); m; m = waiting.shift()) {
      signal.throwIfAborted()
      try {
        const set = await setOf(m.node_id)
        const rehearsal = await parts.configurations.rehearse(m.node_id, set, {
          beside: bodies.filter(({ by }) => by !== m.name),
        })
        const { kind, reason } = rehearsal.verdict
        const missing = set.shared?.some(({ roll_out_id }) => roll_out_id)
          ? missingLink(rehearsal)
          : null
        asked.set(
          m.node_id,
          missing !== null
            ? { m, problem: missing, isSilent: false }
            : kind === 'reboot' || kind === 'no_reboot'
              ? { m, rehearsal }
              : {
                  m,
                  problem:
                    kind === 'not_allowed' ? `${m.name}: Talos refuses it: ${reason}` : reason,
                  isSilent: kind === 'unknown',
                },
        )
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        asked.set(m.node_id, { m, problem: error.message, isSilent: isForNow(error) })
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return members.map((m) => asked.get(m.node_id)!)
}

export const configure: ChangeKind<Change> = {
  async plan(view, change) {
    const { chosen: named, strange } = chosenOf(view, change)
    // The change may have silenced a server: it is taken back on those that answer.
    const silent =
      change.take_back === undefined || change.node_ids !== undefined
        ? []
        : named.filter((m) => view.facts.get(m.node_id)?.reachable === false)
    const chosen = silent.length === named.length ? named : named.filter((m) => !silent.includes(m))
    const { parts, state } = view
    const setOf = await setsOf(parts, parts.db, state.row.id, change)
    const problem = problemOf(change)
    const reachable = checkReachable(chosen, view.facts)
    const first = [
      check(
        'chosen',
        strange === 0,
        strange === 0
          ? 'All chosen servers belong to the cluster'
          : 'A chosen server does not belong to the cluster, or is leaving it',
      ),
      check('patches', problem === null, problem ?? 'The patches follow the rules'),
      reachable,
    ]
    if (first.some((c) => !c.ok)) return { checks: first, groups: [] }

    const changing: MemberRow[] = []
    for (const m of chosen)
      if (await parts.patches.changes(m.node_id, await setOf(m.node_id))) changing.push(m)
    const asked = await rehearse(view, changing, setOf)
    const refusals = asked.flatMap((a) => ('problem' in a ? [a] : []))
    // What a rule refuses comes first: no wait helps against it.
    const refused = refusals
      .toSorted((a, b) => Number(a.isSilent) - Number(b.isSilent))
      .map((a) => a.problem)
    const tried = asked.flatMap((a) => ('rehearsal' in a ? [a] : []))
    const reports = await etcdReports(view)
    const isControlPlane = changing.some((m) => m.role === 'control_plane')
    return {
      checks: [
        ...first,
        check(
          'changes',
          changing.length > 0,
          changing.length > 0
            ? 'The patches change something'
            : 'Every chosen server has these patches already',
        ),
        forNowIf(
          refusals.every((a) => a.isSilent),
          check(
            'dry-run',
            refused.length === 0,
            refused.length === 0
              ? "Talos accepts the configurations (each server's own dry run)"
              : refused.slice(0, 3).join('. '),
          ),
        ),
        // A change that mends keeps the quorum of etcd, which the check of all changes asks.
        isControlPlane && change.mends.length === 0 ? checkEtcd(reports) : checkAlarms(reports),
      ],
      warnings: [
        ...(silent.length === 0
          ? []
          : [
              `${listed(silent.map((m) => m.name))} ${silent.length === 1 ? 'does' : 'do'} not answer and ${silent.length === 1 ? 'keeps' : 'keep'} the change: take it back again once ${silent.length === 1 ? 'it answers' : 'they answer'}`,
            ]),
        ...new Set(tried.flatMap(({ rehearsal }) => rehearsal.warnings.map((w) => w.message))),
      ],
      groups: tried.map(({ m, rehearsal }) =>
        serverGroup(m, rehearsal.verdict.kind === 'reboot' ? 'yes' : 'no', change.mends),
      ),
      losses: tried.flatMap(({ rehearsal }) => rehearsal.losses),
      differences: tried.map(({ m, rehearsal }) => ({
        node_id: m.node_id,
        name: m.name,
        diff: rehearsal.diff,
      })),
    }
  },

  // Patches may contain passwords and keys.
  sealed: {
    close: sealWithBefore,
    open: openChange,
  },
  touches: ['configure'],
  mends: ({ mends }) => mends,
  takeBack: takingBack<Change>(),
  steps: sendingSteps<Change>({
    set: async ({ parts, state, change }, nodeId) =>
      (await setsOf(parts, parts.db, state.row.id, change))(nodeId),
    mends: ({ mends }) => mends,
  }),
}
