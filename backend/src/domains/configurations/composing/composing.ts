/**
 * Renders the configurations of servers: generated, patched, stored. Each generation is rendered
 * once: the stored bytes are the validated bytes and the sent bytes. Only a change renders again.
 */
import { Problem } from '#contract/errors.ts'
import { problemSentence } from '#contract/patches.ts'
import { generateConfig } from '#talos/config/generate.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Platform } from '../../../platform.ts'
import { ours } from '../../../reading/asker.ts'
import { within } from '../../../reading/reader.ts'
import type { ServerFacts } from '../../servers/api.ts'
import type {
  Blueprint,
  ClusterSide,
  Composing,
  Kept,
  LayerSet,
  LayerStore,
  Rendered,
} from '../api.ts'
import type { ConfigurationStore } from '../store.ts'
import { freeBase, type RenderContext } from './layers.ts'
import { gate } from './gate.ts'
import type { Others } from './inventory.ts'
import { demandValid, knownOf, layersOf } from './render.ts'

/** What the layers of a server are merged onto. */
export interface Base {
  /** With plaintext secrets. */
  readonly yaml: string
  readonly context: RenderContext
}

export interface ComposingParts extends Pick<Platform, 'config' | 'db' | 'read'> {
  readonly servers: Others & {
    forPlan(on: Db | Tx, ids: readonly string[]): Promise<ServerFacts[]>
  }
  readonly layers: LayerStore
  readonly clusters: Pick<ClusterSide, 'blueprint' | 'joined'>
}

export type ComposingCore = ReturnType<typeof composing>

export function composing(
  { config, db, read, servers, layers, clusters }: ComposingParts,
  store: ConfigurationStore,
  kept: Kept,
) {
  const hold = gate({ read, servers, layers })
  const factsOf = async (on: Db | Tx, nodeId: string): Promise<ServerFacts> =>
    (await servers.forPlan(on, [nodeId]))[0]!

  const baseFrom = async (
    on: Db | Tx,
    yaml: string,
    context: Omit<RenderContext, 'homes'>,
  ): Promise<Base> => ({
    yaml,
    context: { ...context, homes: await within(read, on)(ours, 'homes', yaml) },
  })
  const generatedFrom = (on: Db | Tx, blueprint: Blueprint): Promise<Base> =>
    baseFrom(on, generateConfig({ ...blueprint, talosVersion: blueprint.contract }), blueprint)

  /** What the layers of a member are merged onto: the base adopted from it, or a generated one. */
  const onto = async (
    on: Db | Tx,
    clusterId: string,
    nodeId: string,
    blueprint: Blueprint,
  ): Promise<Base> => {
    const adopted = await store.base(on, clusterId, nodeId)
    return adopted === undefined
      ? generatedFrom(on, blueprint)
      : baseFrom(on, adopted, { ...blueprint, isAdopted: true })
  }

  /** During a rotation each server has the secrets of the step that it has reached. */
  const whileRotating = async (
    on: Db | Tx,
    clusterId: string,
    nodeId: string,
    { role, rotation }: Blueprint,
    yaml: string,
  ): Promise<string> => {
    if (!rotation) return yaml
    const newest = await kept.newest(on, clusterId, nodeId)
    return newest
      ? within(read, on)(ours, 'withSecrets', yaml, newest.yaml)
      : within(read, on)(ours, 'form', yaml, role === 'control_plane', rotation.of, rotation.form)
  }

  /** The base of a server of a cluster. Null until the cluster has its secrets. */
  const generated = async (
    on: Db | Tx,
    clusterId: string,
    nodeId: string,
  ): Promise<Base | null> => {
    const blueprint = await clusters.blueprint(on, clusterId, nodeId)
    if (!blueprint) return null
    const { yaml, context } = await onto(on, clusterId, nodeId, blueprint)
    return { yaml: await whileRotating(on, clusterId, nodeId, blueprint, yaml), context }
  }

  /** The newest configuration of a control plane of the cluster; undefined if there is none. */
  const controlPlaneOf = async (on: Db | Tx, clusterId: string): Promise<string | undefined> => {
    for (const { node_id, controlPlane } of await clusters.joined(clusterId)) {
      const newest = controlPlane ? await kept.newest(on, clusterId, node_id) : null
      if (newest !== null) return newest.yaml
    }
    return undefined
  }
  /** With what the control planes of a worker's cluster decide. */
  const besideControlPlane = async (on: Db | Tx, clusterId: string, from: Base): Promise<Base> =>
    from.context.role === 'control_plane'
      ? from
      : {
          ...from,
          context: { ...from.context, controlPlane: await controlPlaneOf(on, clusterId) },
        }

  const render = async (on: Db | Tx, nodeId: string, { yaml, context }: Base, set?: LayerSet) => {
    const server = await factsOf(on, nodeId)
    const { stored, more } =
      set === undefined
        ? { stored: await layers.ofServer(on, nodeId), more: [] }
        : await layers.after(on, nodeId, set)
    return demandValid(
      server,
      await within(read, on)(
        ours,
        'compose',
        yaml,
        layersOf(server, context, stored, more),
        knownOf(context),
      ),
    )
  }

  /** The configuration of a member. Null until the cluster has its secrets. */
  const renderNow = async (
    on: Db | Tx,
    clusterId: string,
    nodeId: string,
    set?: LayerSet,
  ): Promise<Rendered | null> => {
    const from = await generated(on, clusterId, nodeId)
    return from && render(on, nodeId, from, set)
  }

  /**
   * Throws if patches that were changed after the creation's check make the configuration invalid.
   */
  const renderNext = async (
    tx: Tx,
    clusterId: string,
    nodeId: string,
  ): Promise<{ yaml: string } | null> => {
    const rendered = await renderNow(tx, clusterId, nodeId)
    if (!rendered) return null
    const { yaml } = rendered
    await kept.store(tx, clusterId, nodeId, yaml)
    return { yaml }
  }

  const judge: Composing['judge'] = async (on, nodeId, blueprint, set, around = {}) => {
    const server = await factsOf(on, nodeId)
    const { yaml: base, ...made } = await generatedFrom(on, blueprint)
    const context = { ...made.context, controlPlane: around.controlPlane }
    const { stored, more } = await layers.after(on, nodeId, set)
    const { refused, cautions, ...rendered } = await hold(ours, on, server, {
      base,
      context,
      layers: layersOf(server, context, stored, more),
      before: { layers: layersOf(server, context, []) },
      own: set.patches[0]?.name ?? '',
      beside: around.beside,
    })
    return {
      ...rendered,
      warnings: [
        ...rendered.warnings,
        ...cautions.map(({ line, message }) =>
          problemSentence({ line, message, path: null, column: null }),
        ),
      ],
      refused: refused.map(problemSentence),
    }
  }

  const judgeAfter: Composing['judgeAfter'] = async (clusterId, nodeId, change) => {
    const now = await clusters.blueprint(db, clusterId, nodeId)
    const newest = await kept.newest(db, clusterId, nodeId)
    if (!now || !newest) return { refused: [], warnings: [] }
    const server = await factsOf(db, nodeId)
    const { yaml: base, context } = await besideControlPlane(
      db,
      clusterId,
      await onto(db, clusterId, nodeId, change(now)),
    )
    try {
      const { refused, cautions } = await hold(ours, db, server, {
        base,
        context,
        layers: layersOf(server, context, await layers.ofServer(db, nodeId)),
        before: {
          base: newest.yaml,
          layers: [],
          versions: { talosVersion: now.talosVersion, kubernetesVersion: now.kubernetesVersion },
        },
        own: '',
      })
      return {
        refused: refused.map(({ message }) => `${server.name}: ${message}`),
        warnings: cautions.map(({ message }) => `${server.name}: ${message}`),
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { refused: [error.message], warnings: [] }
    }
  }

  /**
   * What can't work in the configuration that a member gets in place of the one that its machine
   * runs.
   */
  const refusedInsteadOf = async (
    clusterId: string,
    nodeId: string,
    active: string,
  ): Promise<string[]> => {
    const server = await factsOf(db, nodeId)
    const made = await generated(db, clusterId, nodeId)
    if (!made) return []
    const from = await besideControlPlane(db, clusterId, made)
    const { refused } = await hold(ours, db, server, {
      base: from.yaml,
      context: from.context,
      layers: layersOf(server, from.context, await layers.ofServer(db, nodeId)),
      before: { base: active, layers: [] },
      own: '',
    })
    return refused.map(problemSentence)
  }

  const face: Composing = {
    judge,
    controlPlaneOf,
    judgeAfter,
    compose: async (on, nodeId, blueprint, set) =>
      render(on, nodeId, await generatedFrom(on, blueprint), set),
    async renderFirst(tx, clusterId, nodeId) {
      if (!(await kept.state(tx, clusterId, nodeId))) await renderNext(tx, clusterId, nodeId)
    },
    renderAgain: async (tx, clusterId, nodeId) =>
      (await kept.state(tx, clusterId, nodeId)) ? renderNext(tx, clusterId, nodeId) : null,
    async prepare(tx, clusterId, nodeId, set) {
      const newest = await kept.newest(tx, clusterId, nodeId)
      const rendered = newest && (await renderNow(tx, clusterId, nodeId, set))
      if (!newest || !rendered) return null
      const { yaml } = rendered
      if (newest.yaml !== yaml) await kept.store(tx, clusterId, nodeId, yaml)
      return { yaml }
    },
  }
  return {
    ...face,
    factsOf,
    hold,
    refusedInsteadOf,
    /** Whether this is the configuration with the stored layers. Otherwise an operation made it. */
    isOfLayers: async (clusterId: string, nodeId: string, yaml: string): Promise<boolean> => {
      const rendered = await renderNow(db, clusterId, nodeId)
      return rendered === null || rendered.yaml === yaml
    },
    /**
     * The base of a server's layers. `isReal`: generated for the server's cluster and not a
     * placeholder.
     */
    baseOf: async (server: ServerFacts): Promise<Base & { isReal: boolean }> => {
      const made = server.cluster && (await generated(db, server.cluster.id, server.id))
      if (made) return { ...(await besideControlPlane(db, server.cluster.id, made)), isReal: true }
      const { yaml, context } = freeBase(server, new URL(config.imageFactoryUrl).host)
      return { ...(await baseFrom(db, yaml, context)), isReal: false }
    },
  }
}
