/** Servers that Steelyard would no longer reach after they have joined, because of their patches. */
import type { NewPatch } from '#contract/patches.ts'
import { Problem } from '#contract/errors.ts'
import type { ServerLoss } from '#contract/servers/losses.ts'
import type { Peer } from '#talos/network-effect/facts.ts'
import { type ChosenServer, previewBlueprint, type Resolved } from '../blueprint.ts'
import type { ClusterParts } from '../parts.ts'

interface Joining {
  readonly name: string
  /** Null if there are no servers yet. */
  readonly settings: Omit<Resolved, 'servers'> | null
  readonly chosen: readonly ChosenServer[]
  readonly patchOf: (nodeId: string) => NewPatch | undefined
  /** Servers that the cluster has already. */
  readonly there?: readonly Peer[]
}

export interface Reached {
  readonly losses: readonly ServerLoss[]
  /** What is told about a server, by its id. */
  readonly sentences: ReadonlyMap<string, string>
}

/**
 * Only servers with patches of users are looked at: what Steelyard writes itself keeps a server's
 * address. A configuration that isn't valid is refused elsewhere.
 */
export async function reachedAfter(
  { configurations, secrets, config, db }: ClusterParts,
  { name, settings, chosen, patchOf, there = [] }: Joining,
): Promise<Reached> {
  const patched = chosen.filter((s) => s.candidate.has_user_patch || patchOf(s.node_id))
  const losses: ServerLoss[] = []
  const sentences = new Map<string, string>()
  const bundle = patched.length === 0 ? null : await secrets.forPreview()
  for (const server of patched) {
    const patch = patchOf(server.node_id)
    try {
      const { yaml } = await configurations.compose(
        db,
        server.node_id,
        previewBlueprint(config, name, { ...settings!, servers: chosen }, server, bundle!),
        { patches: patch ? [patch] : [], remove: [] },
      )
      const { effect, sentence } = await configurations.effectOf(server.node_id, {
        after: yaml,
        isControlPlane: server.role === 'control_plane',
        peers: [
          ...there,
          ...chosen
            .filter((one) => one !== server)
            .map((one) => ({
              address: one.candidate.address,
              isControlPlane: one.role === 'control_plane',
            })),
        ],
      })
      if (sentence === null) continue
      sentences.set(server.node_id, sentence)
      if (effect.kind === 'loses')
        losses.push({
          node_id: server.node_id,
          name: server.name,
          reason: sentence,
          tried: false,
        })
    } catch (error) {
      if (!(error instanceof Problem)) throw error
    }
  }
  return { losses, sentences }
}
