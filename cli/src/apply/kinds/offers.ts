import type { OfferDocument } from '#contract/apply/documents.ts'
import { canBecomeOffer, offerCreate, offerUpdate } from '#contract/marketplace/offers.ts'
import {
  bodyOf,
  changesOf,
  documentsOf,
  fieldsOf,
  keyOf,
  planner,
  planRemoval,
  planUpdate,
  ranks,
  refuse,
} from '../plan.ts'

export const offers = planner<OfferDocument>({
  kind: 'offer',
  appliedKind: 'offer',
  nameOf: ({ cluster }) => cluster,

  async plan(planning, placed) {
    const clusters = new Set((await planning.world.clusters()).map((c) => c.name))
    for (const { document } of documentsOf(planning, 'cluster'))
      if (document.kind === 'cluster') clusters.add(document.name)
    const now = new Map(
      (await planning.world.offers()).flatMap((o) =>
        o.cluster ? [[o.cluster.name, o] as const] : [],
      ),
    )
    for (const one of placed) {
      const { document } = one
      const { cluster, price, status } = document
      if (!planning.referred.has(keyOf('cluster', cluster)))
        planning.referred.set(keyOf('cluster', cluster), one)
      const known = now.get(cluster)
      const step = { kind: 'offer', name: cluster, placed: one, rank: ranks.offer } as const
      if (!clusters.has(cluster))
        refuse(
          planning,
          one,
          `There is no cluster ${cluster}, and no document describes it`,
          'cluster',
        )
      else if (planning.plan.waiting.some((w) => w.kind === 'cluster' && w.name === cluster))
        planning.plan.waiting.push({
          kind: 'offer',
          name: cluster,
          placed: one,
          reason: `the cluster ${cluster} waits`,
        })
      else if (!known)
        planning.plan.steps.push({
          ...step,
          does: 'create',
          changes: fieldsOf(document),
          async run(run) {
            const made = await run.call(offerCreate, {
              body: { cluster_id: await run.idOf('cluster', cluster), price: price ?? null },
            })
            if (status !== undefined && status !== made.status)
              await run.call(
                offerUpdate,
                { params: { id: made.id }, body: { status } },
                made.version,
              )
          },
        })
      else {
        planning.described.add(keyOf('offer', known.id))
        const changes = changesOf({ ...known }, { price, status })
        const verdict = changes.some((c) => c.field === 'status')
          ? canBecomeOffer({ ...known, ...(price && { price }) }, status!)
          : null
        if (verdict?.ok === false)
          refuse(planning, one, `The offer of ${cluster}: ${verdict.reason}`, 'status')
        else
          planUpdate(planning, { ...step, changes }, async (run) => {
            await run.call(
              offerUpdate,
              { params: { id: known.id }, body: bodyOf(changes) },
              known.version,
            )
          })
      }
    }
  },

  /** An offer is never removed, because it says what was sold. It is withdrawn. */
  async prune(planning, applied) {
    const now = new Map((await planning.world.offers()).map((o) => [o.id, o]))
    for (const { id } of applied) {
      const known = now.get(id)
      if (!known || known.status === 'withdrawn' || known.cluster === null) continue
      planRemoval(planning, {
        kind: 'offer',
        name: known.cluster.name,
        note: 'it is withdrawn',
        rank: ranks.offerWithdraw,
        run: async (run) =>
          void (await run.call(
            offerUpdate,
            { params: { id }, body: { status: 'withdrawn' } },
            known.version,
          )),
      })
    }
  },

  export: async (world) =>
    (await world.offers())
      .flatMap(({ cluster, price, status }): OfferDocument[] =>
        cluster ? [{ kind: 'offer', cluster: cluster.name, ...(price && { price }), status }] : [],
      )
      .toSorted((a, b) => a.cluster.localeCompare(b.cluster)),
})
