/** The call that creates a cluster, and what it asks first. */
import { clusterCreate, type NewClusterInput } from '#contract/clusters/clusters.ts'
import type { Answer } from '#contract/operation.ts'
import { patchList } from '#contract/patches.ts'
import type { Server } from '#contract/servers/servers.ts'
import { withLosses } from '../../../api/asking/losses.ts'
import { call } from '../../../api/client.ts'
import { query, queryClient } from '../../../api/query.ts'
import { confirmServersWithoutPatch } from '../../../layout/modals.ts'
import type { Draft } from './draft.ts'

export type Made = Answer<typeof clusterCreate>

/**
 * Creates the cluster. Asks about servers without a user's patch first, because users' patches often
 * configure the network. `onAsking`: whether the question is open. Undefined if the user cancels.
 */
export async function create(
  body: NewClusterInput,
  key: string,
  {
    draft,
    servers,
    onAsking,
  }: { draft: Draft; servers: readonly Server[]; onAsking: (isAsking: boolean) => void },
): Promise<Made | undefined> {
  const send = () =>
    withLosses((losses) =>
      call(
        clusterCreate,
        { body: { ...body, ...losses } },
        // Another body needs another key.
        losses.confirmed_loss === undefined ? { key } : {},
      ),
    )
  const chosen = servers.filter((s) => draft.servers[s.id])
  const patches = await Promise.all(
    chosen.map((s) => queryClient.fetchQuery(query(patchList, { params: { id: s.id } }))),
  )
  const without = chosen.filter(
    (s, i) =>
      draft.servers[s.id]?.patch === undefined && !patches[i]!.items.some((p) => !p.read_only),
  )
  if (without.length === 0) return send()
  let made: Promise<Made> | undefined
  onAsking(true)
  await confirmServersWithoutPatch({
    servers: without.map((s) => ({
      id: s.id,
      name: s.name,
      ...(s.nodeAddresses[0] !== undefined && { address: s.nodeAddresses[0] }),
    })),
    // A failure is ignored here: the form shows it.
    onConfirm: async () => {
      made = send()
      await made.catch(() => undefined)
    },
  }).finally(() => onAsking(false))
  return made
}
