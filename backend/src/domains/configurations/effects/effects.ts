/**
 * Where Steelyard reaches a server with a configuration that the server doesn't have yet, as
 * sentences and as a refusal.
 */
import type { PreviewWarning } from '#contract/patches.ts'
import { type Reach, sentChangeSentence } from '#contract/network/sent-change.ts'
import { undoSeconds } from '#contract/servers/losses.ts'
import type { NetworkEffect, Peer } from '#talos/network-effect/facts.ts'
import type { Trial } from '#talos/network-effect/trial.ts'
import { withDrivers } from '../composing/inventory.ts'
import { formatCidr } from '#contract/network/addresses.ts'
import { type For, ours, sentBy } from '../../../reading/asker.ts'
import { sourceAddress } from '../../../talos-fleet/source-address.ts'
import type { ServerFacts } from '../../servers/api.ts'
import type { EffectAsked, Effects } from '../api.ts'
import type { ConfigurationParts, Core } from '../parts.ts'

/**
 * Whether a trial reaches the change of a server's network. `trial`: null if the server gets the
 * configuration with its installation. `reboots`: the machine says that it restarts for the change.
 */
export function reachOf(name: string, trial: Trial | null, reboots = false): Reach {
  if (trial === null) return { tried: false, why: 'it comes with the installation' }
  if (reboots || trial.restarts.length > 0) return { tried: false, why: `${name} restarts for it` }
  return trial.isOfNetwork ? { tried: true } : { tried: false, why: 'no trial reaches it' }
}

/** What a user reads about the effect; null if the server stays where it is. */
function effectSentence(name: string, effect: NetworkEffect, reach: Reach): string | null {
  if (effect.kind === 'keeps') return null
  const why = effect.reasons.join('; ')
  switch (effect.kind) {
    case 'moves':
      return `Steelyard will reach ${name} at ${effect.address} on ${effect.link}: ${why}`
    case 'unknown':
      return `Whether Steelyard still reaches ${name} afterwards can't be told: ${why}`
    default:
      return sentChangeSentence({
        name,
        reach,
        undoAfterSeconds: undoSeconds.usual,
        loss: why,
        when: 'asked',
      })
  }
}

function reaching(
  { db, read }: Pick<ConfigurationParts, 'db' | 'read'>,
  { kept }: Pick<Core, 'kept'>,
) {
  /** Whether a trial reaches a change of the server from one configuration to another. */
  const reachOfChange = async (
    { id, name, talos_version }: ServerFacts,
    before: string,
    after: string,
  ): Promise<Reach> =>
    reachOf(name, await read(sentBy(id), 'trial', before, after, talos_version ?? undefined))
  return {
    reachOfChange,
    /** The same from the configuration that the machine holds, if it is in a cluster. */
    async reachOfSaved(server: ServerFacts, after: string): Promise<Reach> {
      const member = server.status === 'ready' ? server.cluster : null
      const configs = member && (await kept.all(db, member.id, server.id))
      return configs ? reachOfChange(server, configs.held.yaml, after) : reachOf(server.name, null)
    },
  }
}

export type EffectsOfChanges = ReturnType<typeof effects>

export function effects(
  { config, db, read, servers, clusters }: ConfigurationParts,
  { kept }: Pick<Core, 'kept'>,
) {
  /** The other servers of the server's cluster, and the server's own role. */
  const around = async ({ id, cluster }: ServerFacts) => {
    const joined = cluster ? await clusters.joined(cluster.id) : []
    const others = joined.filter((m) => m.node_id !== id)
    const facts = await servers.forPlan(
      db,
      others.map((m) => m.node_id),
    )
    return {
      peers: facts.map(({ address }, i): Peer => ({
        address,
        isControlPlane: others[i]!.controlPlane,
      })),
      isControlPlane: joined.find((m) => m.node_id === id)?.controlPlane ?? null,
    }
  }

  const networkEffect = async (
    who: For,
    server: ServerFacts,
    { before, after, isControlPlane, peers }: EffectAsked & { readonly before: string | null },
  ): Promise<NetworkEffect> => {
    return read(who, 'effect', before, after, {
      address: server.address,
      links: withDrivers(server),
      routes: server.hardware?.routes ?? [],
      from: await sourceAddress(server.address),
      dialled: config.dialNetworks.map(formatCidr),
      isControlPlane,
      peers,
    })
  }

  return {
    effectOf: async (nodeId, asked) => {
      const [server] = await servers.forPlan(db, [nodeId])
      const effect = await networkEffect(ours, server!, { ...asked, before: null })
      return { effect, sentence: effectSentence(server!.name, effect, reachOf(server!.name, null)) }
    },

    /**
     * The effect of a change of layers. `without`: composes the configuration without the change,
     * which a server in maintenance would get; null if it isn't valid.
     */
    async effectOfChange(
      who: For,
      server: ServerFacts,
      { without, after }: { without?: () => Promise<string | null>; after: string },
    ): Promise<NetworkEffect> {
      const member = server.status === 'ready' ? server.cluster : null
      const configs = member && (await kept.all(db, member.id, server.id))
      const asked = { before: configs?.held.yaml ?? null, ...(await around(server)) }
      const effect = await networkEffect(who, server, { ...asked, after })
      const now = effect.kind === 'loses' && member === null ? await without?.() : null
      if (now === undefined || now === null) return effect
      // A loss that the other patches bring anyway isn't one of this change.
      const present = await networkEffect(who, server, { ...asked, after: now })
      return effect.kind === 'loses' && present.kind === 'loses'
        ? { kind: 'unknown', reasons: effect.reasons }
        : effect
    },

    /** The address at which a member is reached with a configuration that it gets now, if another. */
    async movedBy(server: ServerFacts, before: string, after: string): Promise<string | null> {
      const effect = await networkEffect(sentBy(server.id), server, {
        before,
        after,
        ...(await around(server)),
      })
      return effect.kind === 'moves' ? effect.address : null
    },

    /** @param active what the machine runs */
    effectOfOverwrite: async (server: ServerFacts, active: string, after: string) =>
      networkEffect(sentBy(server.id), server, {
        before: active,
        after,
        ...(await around(server)),
      }),

    ...reaching({ db, read }, { kept }),

    warningsOf(server: ServerFacts, effect: NetworkEffect, reach: Reach): PreviewWarning[] {
      const message = effectSentence(server.name, effect, reach)
      return message === null
        ? []
        : [{ check: 'management_address', message, link: server.link, line: null }]
    },

    lossOf: ({ id, name }: ServerFacts, effect: NetworkEffect, reach: Reach) =>
      effect.kind === 'loses'
        ? [{ node_id: id, name, reason: effectSentence(name, effect, reach)!, tried: reach.tried }]
        : [],
  } satisfies Effects & Record<string, unknown>
}
