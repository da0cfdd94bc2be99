/**
 * Previews a layer before it is saved: the merged configuration, Talos's own dry run, and warnings
 * about what would break although Talos accepts the patch.
 */
import { Problem } from '#contract/errors.ts'
import { type Preview, type PreviewWarning, problemSentence } from '#contract/patches.ts'
import { unifiedDiff } from '#contract/servers/diff.ts'
import { type Reach, sentChangeSentence } from '#contract/network/sent-change.ts'
import type { ChangeEffects } from '#talos/change-effect/effects.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { NetworkEffect } from '#talos/network-effect/facts.ts'
import type { LinkUse } from '#talos/network-effect/missing.ts'
import { heldSentence, holdOf } from '../../../engine/holds.ts'
import { demand } from '../../../http/errors.ts'
import { ours, sentBy } from '../../../reading/asker.ts'
import { dryRun } from '../../../talos-fleet/apply.ts'
import type { ServerFacts } from '../../servers/api.ts'
import type { Previewing } from '../api.ts'
import { withPlaceholders } from '../composing/layers.ts'
import { inventoryFor, linkNames } from '../composing/inventory.ts'
import { demandValid, knownOf, layersOf } from '../composing/render.ts'
import type { Drifts } from '../drift/drift.ts'
import { type EffectsOfChanges, reachOf } from '../effects/effects.ts'
import { adminCredentials, type ConfigurationParts, type Core } from '../parts.ts'
import type { Restarts } from './restarts.ts'

/** What a machine says, or would do, about a configuration. */
export type Verdict = (
  server: ServerFacts,
  yaml: string,
  given: { isReal: boolean; mayAsk: boolean },
) => Promise<Preview['verdict']>

const afterRotation =
  'If the authorities of its cluster were changed outside of Steelyard, import the new secrets'
const mostNamed = 6

const warn = (message: string): PreviewWarning => ({
  check: null,
  message,
  link: null,
  line: null,
})

/** What a change doesn't do to objects in Kubernetes, and what of it a worker doesn't read. */
export const objectSentences = ({
  atKubernetesUpgrade,
  left,
  unread,
}: Pick<ChangeEffects, 'atKubernetesUpgrade' | 'left' | 'unread'>): string[] => [
  ...(atKubernetesUpgrade.length === 0
    ? []
    : [
        `Talos creates objects that are missing and changes none that exists in Kubernetes: those of ${atKubernetesUpgrade.join(', ')} change with the next Kubernetes upgrade`,
      ]),
  ...(left.length === 0
    ? []
    : [
        `The objects of ${left.join(', ')} stay in Kubernetes, because neither Talos nor a Kubernetes upgrade deletes any: delete them with kubectl`,
      ]),
  ...(unread.length === 0
    ? []
    : [
        `${unread.join(', ')} ${unread.length === 1 ? 'has' : 'have'} no effect on a worker: only control planes read ${unread.length === 1 ? 'it' : 'them'}`,
      ]),
]

export function previewing(
  { config, db, read, servers, layers, clusters }: ConfigurationParts,
  { kept, factsOf, baseOf }: Pick<Core, 'kept' | 'factsOf' | 'baseOf'>,
  {
    demandNone,
    effectOfChange,
    warningsOf,
    lossOf,
  }: Pick<Drifts, 'demandNone'> &
    Pick<EffectsOfChanges, 'effectOfChange' | 'warningsOf' | 'lossOf'>,
  { needs, whyNot }: Pick<Restarts, 'needs' | 'whyNot'>,
): Previewing & { readonly verdict: Verdict } {
  const trialOf = (server: ServerFacts, before: string, after: string) =>
    read(sentBy(server.id), 'trial', before, after, server.talos_version ?? undefined)

  /**
   * Predicts what happens when a configuration is saved. A server in a cluster makes a dry run; a
   * server without a cluster isn't queried.
   * @param yaml with plaintext secrets: it is sent to the machine, which has the secrets anyway
   * @param isReal the configuration is the server's real one, not a stand-in
   * @param mayAsk the caller may change the server. Texts of other callers aren't sent to the
   * server
   */
  const verdict: Verdict = async (server, yaml, { isReal, mayAsk }) => {
    const unknown = (reason: string) => ({ kind: 'unknown', reason }) as const
    if (!server.cluster) return { kind: 'at_install', reason: 'Applied at install' }
    if (!isReal || server.status !== 'ready')
      return unknown(`${server.name} is still joining ${server.cluster.name}`)
    // The server is held after a restore: nothing is sent to it.
    if (await holdOf(db, server.id)) return unknown(heldSentence(server.name))
    if (!mayAsk)
      return unknown(
        `${server.name} made no dry run: only patches of users who may change servers (servers:write) are sent to a server`,
      )
    const keys = await clusters.talosCredentials(server.cluster.id, adminCredentials)
    if (!keys) return unknown(`The cluster ${server.cluster.name} has no credentials`)
    try {
      const connection = await servers.connection(server.id)
      const { reboots } = await connection.secure(keys, (client) => dryRun(client, yaml))
      const held = reboots ? null : await kept.all(db, server.cluster.id, server.id)
      if (reboots || (held !== null && (await needs(server, held.held.yaml, yaml))))
        return { kind: 'reboot', reason: `${server.name} reboots to apply it` }
      const reason = `Applied on ${server.name} without a reboot`
      if (held === null) return { kind: 'no_reboot', reason }
      const { starts, atKubernetesUpgrade } = await trialOf(server, held.held.yaml, yaml)
      return {
        kind: 'no_reboot',
        reason: [
          reason,
          ...(starts.length === 0 ? [] : [`Starts again: ${starts.join(', ')}`]),
          ...(atKubernetesUpgrade.length === 0
            ? []
            : [
                `Takes effect only with the next Kubernetes upgrade: ${atKubernetesUpgrade.join(', ')}`,
              ]),
        ].join('. '),
      }
    } catch (error) {
      if (error instanceof TalosError && error.kind === 'invalid_argument')
        return { kind: 'not_allowed', reason: error.message }
      if (!(error instanceof TalosError || error instanceof Problem)) throw error
      const reason = `${server.name} did not answer a dry run: ${error.message}`
      // Changed authorities are detected only by the next sweep, within two minutes. Until then
      // this hint names the likely cause.
      const isStrange =
        error instanceof TalosError && (error.kind === 'refused' || error.kind === 'certificate')
      return unknown(isStrange ? `${reason}. ${afterRotation}` : reason)
    }
  }

  /**
   * What a trial does for the change, what it doesn't reach, and what has no effect on a machine that
   * runs. First whether Steelyard would lose the server, and what brings it back then.
   */
  const changeWarnings = async (
    server: ServerFacts,
    after: string,
    { kind, effect }: { kind: Preview['verdict']['kind']; effect: NetworkEffect },
  ): Promise<{ reach: Reach; first: PreviewWarning[]; more: PreviewWarning[] }> => {
    const { id, name, cluster, status } = server
    const configs = cluster && status === 'ready' ? await kept.all(db, cluster.id, id) : null
    const trial =
      configs === null || after === '' ? null : await trialOf(server, configs.held.yaml, after)
    const reach = reachOf(name, trial, kind === 'reboot')
    const first = warningsOf(server, effect, reach)
    if (trial === null) return { reach, first, more: [] }
    const { isOfNetwork, isOfEtcd, atInstallation, restarts: _, ...effects } = trial
    const more = [
      // A loss says it already.
      ...(isOfNetwork && effect.kind !== 'loses'
        ? [warn(sentChangeSentence({ name, reach, undoAfterSeconds: config.trialSeconds }))]
        : []),
      ...(atInstallation.length === 0
        ? []
        : [
            warn(
              `${atInstallation.join(', ')} ${atInstallation.length === 1 ? 'has' : 'have'} no effect on ${name} now: Talos reads ${atInstallation.length === 1 ? 'it' : 'them'} when it is installed or upgraded`,
            ),
          ]),
      ...(isOfEtcd
        ? [
            warn(
              `The change of the section of etcd of ${name} can't be tried, because etcd reads it when it starts: nothing will undo it`,
            ),
          ]
        : []),
      ...objectSentences(effects).map(warn),
    ]
    return { reach, first, more }
  }

  /** Links that don't exist. */
  const missingWarnings = (server: ServerFacts, missing: readonly LinkUse[]): PreviewWarning[] => {
    const own = server.links.filter((l) => l.physical).map((l) => l.name)
    const has =
      own.length === 0
        ? 'none'
        : own.slice(0, mostNamed).join(', ') +
          (own.length > mostNamed ? ` and ${own.length - mostNamed} more` : '')
    return missing.map(({ link, line }) => ({
      check: null,
      message: `${server.name} has no link ${link}: it has ${has}`,
      link,
      line,
    }))
  }

  return {
    verdict,

    async preview(who, nodeId, { layer, without, after, audience, mayAsk }) {
      const server = await factsOf(db, nodeId)
      const { yaml: base, context, isReal } = await baseOf(server)
      const refusals = await read(who, 'check', layer.body, context.talosVersion)
      const before = layersOf(server, context, without)
      const isBad = refusals.length > 0
      const merged = await read(who, 'preview', {
        base,
        context: knownOf(context),
        without: before,
        // A patch that violates the rules isn't merged.
        with: isBad ? before : layersOf(server, context, after.stored, after.more),
        patch: { name: layer.name, body: isBad ? '' : layer.body },
        audience,
        links: linkNames(server),
        inventory: await inventoryFor({ db, servers, layers }, server, context, [layer.body]),
      })
      const errors = isBad ? refusals : merged.errors
      const said: Preview['verdict'] = errors[0]
        ? { kind: 'not_allowed', reason: problemSentence(errors[0]) }
        : await verdict(server, merged.yaml, { isReal, mayAsk })
      const why = said.kind === 'reboot' ? await whyNot(server) : null
      const warned =
        errors.length > 0
          ? null
          : await changeWarnings(server, merged.yaml, {
              kind: said.kind,
              effect: await effectOfChange(who, server, { after: merged.yaml }),
            })
      return {
        diff: { before: merged.before, after: isBad ? '' : merged.after },
        sources: isBad ? [] : merged.sources,
        errors,
        warnings:
          warned === null
            ? []
            : [
                ...warned.first,
                ...missingWarnings(server, merged.missing),
                ...merged.cautions,
                ...warned.more,
                ...(why === null ? [] : [warn(why)]),
              ],
        verdict: said,
      }
    },

    async rehearse(nodeId, set, around) {
      const server = await factsOf(db, nodeId)
      const { yaml: base, context, isReal } = await baseOf(server)
      const stored = await layers.ofServer(db, nodeId)
      const after = await layers.after(db, nodeId, set)
      demand(after.room, 'conflict')
      const own = [...set.patches, ...(set.shared ?? []).flatMap(({ layer }) => layer ?? [])]
      for (const { name, body } of own) {
        const [first] = await read(ours, 'check', body, context.talosVersion)
        if (first) throw new Problem('invalid', `${name}: ${problemSentence(first)}`)
      }
      const merged = await read(ours, 'preview', {
        base,
        context: knownOf(context),
        without: layersOf(server, context, stored),
        with: layersOf(server, context, after.stored, after.more),
        patch: { name: '', body: own.map((p) => p.body).join('\n---\n') },
        audience: 'everybody',
        links: linkNames(server),
        inventory: await inventoryFor(
          { db, servers, layers },
          server,
          context,
          // A removed patch may bring to light what another one says.
          [...after.stored, ...after.more].map((layer) => layer.body),
          around?.beside,
        ),
      })
      const [error] = merged.errors
      if (error)
        throw new Problem(
          'invalid',
          `The configuration of ${server.name} is refused: ${problemSentence(error)}`,
        )
      if (server.cluster) await demandNone(server)
      const effect = await effectOfChange(ours, server, {
        after: merged.yaml,
      })
      const shown = unifiedDiff(merged.before, merged.after)
      const said = await verdict(server, merged.yaml, { isReal, mayAsk: true })
      const warned = await changeWarnings(server, merged.yaml, { kind: said.kind, effect })
      return {
        diff:
          shown !== '' || !after.isChanged
            ? shown
            : '# Only secrets change, or the order of patches: the shown configuration stays the same\n',
        verdict: said,
        warnings: [
          ...warned.first,
          ...missingWarnings(server, merged.missing),
          ...merged.cautions,
          ...warned.more,
        ],
        losses: lossOf(server, effect, warned.reach),
      }
    },

    async rehearseMove(nodeId) {
      const server = await factsOf(db, nodeId)
      const { yaml: base, context, isReal } = await baseOf(server)
      const present = layersOf(server, context, await layers.ofServer(db, nodeId))
      const composed = async (isMoved: boolean) =>
        demandValid(
          server,
          await read(ours, 'compose', base, present, { ...knownOf(context), isMoved }),
        ).yaml
      const [before, after] = [await composed(false), await composed(true)]
      if (server.cluster) await demandNone(server)
      const { stays } = await read(ours, 'documentForm', after, {
        talosVersion: context.talosVersion,
      })
      const shown = async (yaml: string) =>
        withPlaceholders((await read(ours, 'mask', yaml, 'everybody')).text)
      return {
        diff: unifiedDiff(await shown(before), await shown(after)),
        verdict: await verdict(server, after, { isReal, mayAsk: true }),
        stays,
        differs: await read(ours, 'factsThatDiffer', before, after),
      }
    },

    async systemLayers(nodeId) {
      const server = await factsOf(db, nodeId)
      const { context } = await baseOf(server)
      return layersOf(server, context, []).map((layer) => ({
        ...layer,
        body: withPlaceholders(layer.body),
      }))
    },

    mask: async (yaml) => (await read(ours, 'mask', yaml, 'everybody')).text,
  }
}
