import type { JoinTokenDocument } from '#contract/apply/documents.ts'
import { type JoinToken, joinTokenCreate, joinTokenRevoke } from '#contract/join-tokens.ts'
import {
  changesOf,
  demandDatacenter,
  fieldsOf,
  keyOf,
  planner,
  planRemoval,
  ranks,
  refuse,
} from '../plan.ts'

const msPerHour = 3_600_000
const lifetimeHoursOf = ({ created_at, expires_at }: JoinToken): number | null =>
  expires_at === null
    ? null
    : Math.max(1, Math.round((Date.parse(expires_at) - Date.parse(created_at)) / msPerHour))

const documentOf = (t: JoinToken): JoinTokenDocument => ({
  kind: 'join-token',
  name: t.name,
  datacenter: t.datacenter?.code ?? null,
  labels: t.labels ?? {},
  lifetime_hours: lifetimeHoursOf(t),
  max_uses: t.max_uses,
})

export const joinTokens = planner<JoinTokenDocument>({
  kind: 'join-token',
  appliedKind: 'join_token',
  nameOf: ({ name }) => name,

  async plan(planning, placed) {
    // A revoked token has given up its name.
    const now = new Map(
      (await planning.world.joinTokens())
        .filter((t) => t.status !== 'revoked')
        .map((t) => [t.name, t]),
    )
    for (const one of placed) {
      const { document } = one
      const { name, datacenter, labels, lifetime_hours, max_uses } = document
      if (datacenter !== null && !(await demandDatacenter(planning, one, datacenter))) continue
      const known = now.get(name)
      if (!known) {
        planning.plan.steps.push({
          kind: 'join-token',
          name,
          placed: one,
          rank: ranks.joinToken,
          does: 'create',
          changes: fieldsOf(document),
          async run(run) {
            const datacenter_id =
              datacenter === null ? null : await run.idOf('datacenter', datacenter)
            run.made(
              'join-token',
              name,
              (
                await run.call(joinTokenCreate, {
                  body: { name, datacenter_id, labels, lifetime_hours, max_uses },
                })
              ).id,
            )
          },
        })
        continue
      }
      planning.described.add(keyOf('join_token', known.id))
      const [change] = changesOf(
        { ...documentOf(known) },
        { datacenter, labels, lifetime_hours, max_uses },
      )
      if (change)
        refuse(
          planning,
          one,
          `A join token cannot be changed: revoke ${name} first, or give the new token another name`,
          change.field,
        )
      else planning.plan.unchanged++
      if (known.status !== 'usable')
        planning.plan.notes.push(
          `The join token ${name} is ${known.status.replaceAll('_', ' ')}. To get a new one, revoke it: steelyard token revoke ${name}`,
        )
    }
  },

  async prune(planning, applied) {
    const now = new Map(
      (await planning.world.joinTokens())
        .filter((t) => t.status === 'usable')
        .map((t) => [t.id, t]),
    )
    for (const { id } of applied) {
      const known = now.get(id)
      if (known)
        planRemoval(planning, {
          kind: 'join-token',
          name: known.name,
          note: 'it is revoked',
          rank: ranks.joinTokenRemove,
          run: async (run) => {
            await run.call(joinTokenRevoke, { params: { id } })
          },
        })
    }
  },

  export: async (world) =>
    (await world.joinTokens())
      .filter((t) => t.status === 'usable')
      .toSorted((a, b) => a.name.localeCompare(b.name))
      .map(documentOf),
})
