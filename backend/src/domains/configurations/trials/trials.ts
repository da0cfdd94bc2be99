/**
 * Sends a change of a server's network on trial: the machine undoes it by itself, unless Steelyard
 * reaches the machine with it on a new connection and sends it for good
 * (`docs/decisions/028-network-effect.md`).
 */
import { createHash } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import { sentChangeSentence } from '#contract/network/sent-change.ts'
import type { PendingConfiguration } from '#contract/servers/server.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { type Found, readFound } from '#talos/client/found.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Job } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { sentBy } from '../../../reading/asker.ts'
import { apply, tryFor } from '../../../talos-fleet/apply.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { adminCredentials, type ConfigurationParts, type Core } from '../parts.ts'
import {
  checkingSentence,
  givenUpSentence,
  isWaitedFor,
  nextOf,
  patchesAttempt,
  type Sight,
  type Trial,
  tryDeadlineMs,
  untriableSentence,
} from './judge.ts'
import * as store from './store.ts'

/** Deadline of one look at a machine on trial, in ms: each look is a new connection. */
const lookMs = 5_000
const applyMs = 60_000
/** Time after which the claim of a process that was killed ends, in ms. */
const claimMs = 2 * applyMs

/**
 * `trying`: the trial goes on, and is to be advanced again. `gone`: there is no trial, and the
 * machine has its former configuration. `untriable`: Talos only applies it with a restart.
 */
export type TrialResult =
  | { readonly kind: 'held' | 'gone' | 'untriable' }
  | { readonly kind: 'trying' | 'undone' | 'refused'; readonly reason: string }

/** A configuration that a machine gets. */
export interface Given {
  readonly yaml: string
  readonly generation: number
  /** What the machine has stored. */
  readonly former: string
  /** Where the machine is reached with the configuration. */
  readonly address: string
  readonly attempt: string
  /** Chosen with the confirmed loss of the server: see `Kept.consent`. Null: nothing is tried. */
  readonly consent: number | null | undefined
}

/** What a change waits for. */
type Waits = Omit<PendingConfiguration, 'since'>

export type Trials = ReturnType<typeof trials>

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

export function trials(
  { config, db, record, read, engine, clock, servers, clusters }: ConfigurationParts,
  { kept }: Pick<Core, 'kept'>,
) {
  const claimant = { owner: engine.owner, instance: engine.instance }

  const credentialsOf = async (server: ServerFacts) => {
    const keys = await clusters.talosCredentials(server.cluster!.id, adminCredentials)
    if (!keys)
      throw new Problem('server_not_in_cluster', `The cluster of ${server.name} has no credentials`)
    return keys
  }

  const isSame = async (server: ServerFacts, yaml: string, text: string): Promise<boolean> => {
    if (yaml === text) return true
    const version = server.talos_version ?? 'v1.13.0'
    const { same, images } = await read(sentBy(server.id), 'difference', yaml, text, version)
    return same && images === null
  }

  const target = ({ id, name }: ServerFacts) => ({ kind: 'server', id, name }) as const

  /** Only one run at a time gives a server a configuration. Null: another one does. */
  const claiming = async <T>(nodeId: string, act: () => Promise<T>): Promise<T | null> => {
    const now = clock.now()
    const when = { now: new Date(now), until: new Date(now + claimMs) }
    if (!(await store.claim(db, nodeId, claimant, when))) return null
    try {
      return await act()
    } finally {
      await store.release(db, nodeId, claimant)
    }
  }

  const end = (job: Job, server: ServerFacts, { attempt }: Trial, reason: string) =>
    job.fence.write(async (tx) => {
      await store.update(tx, server.id, { phase: 'undone', reason })
      // An operation says itself that it was undone, and its patches aren't saved.
      const isSaved = attempt === patchesAttempt
      await servers.noteTrial(tx, server.id, isSaved ? { state: 'undone', reason } : null)
      await record(tx, system, {
        action: 'server.change_undone',
        target: target(server),
        after: { reason },
      })
    })

  const hold = (job: Job, server: ServerFacts, trial: Trial, address: string) =>
    job.fence.write(async (tx) => {
      const { id } = server
      await kept.noteHeld(tx, trial.cluster_id, id, trial.generation)
      if (address !== server.address) await servers.noteMoved(tx, id, address)
      await servers.noteDrift(tx, id, null)
      await store.remove(tx, id)
      await servers.noteTrial(tx, id, null)
      await record(tx, system, {
        action: 'server.configured',
        target: target(server),
        after: { hash: trial.hash, mode: 'no-reboot', tried: true },
      })
    })

  const drop = (job: Job, server: ServerFacts) =>
    job.fence.write(async (tx) => {
      await store.remove(tx, server.id)
      await servers.noteTrial(tx, server.id, null)
    })

  /** Looks at the machine on a new connection, at the first address that answers. */
  const looking = async <T>(
    job: Job,
    server: ServerFacts,
    addresses: readonly string[],
    act: (client: TalosClient, found: Found, address: string) => Promise<T>,
  ): Promise<T | null> => {
    const keys = await credentialsOf(server)
    for (const address of new Set(addresses)) {
      const state: { found?: true } = {}
      try {
        const connection = await servers.connection(server.id, address)
        return await connection.secure(
          keys,
          async (client) => {
            const found = await readFound(client)
            state.found = true
            return act(client, found, address)
          },
          { signal: job.signal, deadlineMs: lookMs },
        )
      } catch (error) {
        if (
          job.signal.aborted ||
          state.found ||
          !(error instanceof TalosError || error instanceof Problem)
        )
          throw error
      }
    }
    return null
  }

  const confirm = async (
    job: Job,
    server: ServerFacts,
    client: TalosClient,
    yaml: string,
  ): Promise<TrialResult> => {
    const { id, name } = server
    await job.fence.write((tx) => store.update(tx, id, { phase: 'confirming' }))
    try {
      await job.effect(`confirm-trial/${id}`, () =>
        apply(client, yaml, { mode: 'no-reboot' }, { deadlineMs: applyMs }),
      )
    } catch (error) {
      if (!(error instanceof TalosError) || job.signal.aborted) throw error
      const isRefused = error.kind === 'invalid_argument' || error.kind === 'failed_precondition'
      const reason = `${name} has accepted the change on trial, but refuses it for good: ${error.message}. It gets its former configuration again`
      // A refusal has stopped the machine's timer as well.
      if (isRefused)
        await job.fence.write((tx) => store.update(tx, id, { phase: 'undoing', reason }))
      return {
        kind: 'trying',
        reason: isRefused ? reason : `${name} has not confirmed its change yet: ${error.message}`,
      }
    }
    await settle(job, server)
    return {
      kind: 'trying',
      reason: `The change of ${name} is confirmed: its configuration is read back`,
    }
  }

  const settle = (job: Job, { id }: ServerFacts) =>
    job.fence.write((tx) =>
      store.update(tx, id, { phase: 'confirmed', confirmed_at: new Date(job.now()) }),
    )

  const advance = async (job: Job, server: ServerFacts, trial: Trial): Promise<TrialResult> => {
    const { id, name } = server
    const generation = await kept.generation(db, trial.cluster_id, id, trial.generation)
    if (generation === null) {
      await drop(job, server)
      return { kind: 'gone' }
    }
    const { yaml } = generation
    const which = async (text: string): Promise<'trial' | 'former' | 'other'> => {
      if (await isSame(server, yaml, text)) return 'trial'
      return digestOf(text) === trial.former_hash ? 'former' : 'other'
    }
    const carryOut = async (
      sight: Sight,
      address: string,
      machine: { readonly client: TalosClient; readonly found: Found } | null,
    ): Promise<TrialResult> => {
      const next = nextOf(trial, name, sight, job.now())
      switch (next.act) {
        case 'wait':
          return { kind: 'trying', reason: next.reason }
        case 'confirm':
          return confirm(job, server, machine!.client, yaml)
        case 'undo':
          await job.effect(`undo-trial/${id}`, () =>
            apply(
              machine!.client,
              machine!.found.stored,
              { mode: 'no-reboot' },
              { deadlineMs: applyMs },
            ),
          )
          return { kind: 'trying', reason: trial.reason! }
        case 'settle':
          await settle(job, server)
          return {
            kind: 'trying',
            reason: `${name} has its change: its configuration is read back`,
          }
        case 'hold':
          await hold(job, server, trial, address)
          return { kind: 'held' }
        case 'drop':
          await drop(job, server)
          return { kind: 'gone' }
        default:
          if (trial.phase !== 'undone') await end(job, server, trial, next.reason)
          return { kind: 'undone', reason: next.reason }
      }
    }
    if (trial.phase === 'undone') return carryOut(null, server.address, null)
    // With the configuration on trial the machine is where that puts it, and afterwards where it was.
    const isOver = job.elapsedMs(trial.began_at) > trial.lasts_ms
    const addresses =
      isOver || trial.phase !== 'trying' ? [trial.address, server.address] : [trial.address]
    const answer = await looking(job, server, addresses, async (client, found, address) => {
      const sight = { active: await which(found.active), stored: await which(found.stored) }
      return carryOut(sight, address, { client, found })
    })
    return answer ?? carryOut(null, trial.address, null)
  }

  const alone = <T>(nodeId: string, send: () => Promise<T>): Promise<T | null> =>
    claiming(nodeId, async () => {
      const trial = await store.trialOf(db, nodeId)
      return trial === undefined || trial.phase === 'undone' ? send() : null
    })

  /** Why a trial of this server can't begin: of a cluster's servers one at a time has one. */
  const whyNotBegin = async (
    on: Db | Tx,
    job: Job,
    { id, name, cluster }: ServerFacts,
  ): Promise<Waits | null> => {
    const others = await store.othersTrying(on, { cluster_id: cluster!.id, node_id: id })
    const other = others.find((one) => isWaitedFor(one, job.elapsedMs(one.began_at)))
    return other === undefined
      ? null
      : {
          reason: `The network of ${name} is changed after that of ${other.name}, whose change is on trial`,
          waits_for: [{ id: other.node_id, name: other.name }],
        }
  }

  /** Whether the configuration is sent on trial: it changes the network, and needs no restart. */
  const isTried = async (
    server: ServerFacts,
    { yaml, former, consent }: Pick<Given, 'yaml' | 'former' | 'consent'>,
  ): Promise<boolean> => {
    if (consent === null) return false
    const version = server.talos_version ?? undefined
    const reaches = await read(sentBy(server.id), 'trial', former, yaml, version)
    return reaches.isOfNetwork && reaches.restarts.length === 0
  }

  /**
   * Begins a trial on an open connection: `trying` without a stored trial if another server has one.
   */
  const begin = async (
    job: Job,
    server: ServerFacts,
    client: TalosClient,
    { yaml, generation, former, address, attempt, consent }: Given,
  ): Promise<TrialResult> => {
    const { id, name } = server
    const lastsMs = (consent ?? config.trialSeconds) * 1_000
    const trial: Trial = {
      cluster_id: server.cluster!.id,
      node_id: id,
      generation,
      hash: digestOf(yaml),
      former_hash: digestOf(former),
      attempt,
      address,
      phase: 'trying',
      lasts_ms: lastsMs,
      began_at: new Date(job.now()),
      answered_at: null,
      confirmed_at: null,
      reason: null,
    }
    const waits = await job.fence.write(async (tx) => {
      await clusters.lock(tx, trial.cluster_id)
      const why = await whyNotBegin(tx, job, server)
      if (why !== null) return why
      await store.begin(tx, trial)
      await servers.noteTrial(tx, id, {
        state: 'running',
        reason: sentChangeSentence({
          name,
          reach: { tried: true },
          undoAfterSeconds: lastsMs / 1000,
          when: 'running',
        }),
      })
      await record(tx, system, {
        action: 'server.change_tried',
        target: target(server),
        after: { seconds: lastsMs / 1000, address },
      })
      return null
    })
    if (waits !== null) return { kind: 'trying', reason: waits.reason }
    try {
      await job.effect(`trial/${id}`, () =>
        tryFor(client, yaml, lastsMs, { deadlineMs: tryDeadlineMs }),
      )
    } catch (error) {
      if (!(error instanceof TalosError) || job.signal.aborted) throw error
      if (error.kind !== 'invalid_argument')
        return {
          kind: 'trying',
          reason: `${checkingSentence(name)}: ${error.message}`,
        }
      await drop(job, server)
      // Talos `v1alpha1_server.go`, CanApplyImmediate.
      if (error.message.includes('in immediate mode'))
        // Whoever confirmed the loss for a time was promised a way back.
        return typeof consent === 'number'
          ? { kind: 'refused', reason: untriableSentence(name) }
          : { kind: 'untriable' }
      return { kind: 'refused', reason: `${name} refuses the configuration: ${error.message}` }
    }
    await job.fence.write((tx) => store.update(tx, id, { answered_at: new Date(job.now()) }))
    return {
      kind: 'trying',
      reason: `The change of ${name} is on trial: Steelyard waits for an answer at ${address}`,
    }
  }

  const follow = async (job: Job, server: ServerFacts, trial: Trial): Promise<TrialResult> =>
    (await claiming(server.id, () => advance(job, server, trial))) ?? {
      kind: 'trying',
      reason: `The trial of ${server.name} is followed by another process`,
    }

  return {
    /** The trial of a server that has not ended. */
    running: async (nodeId: string): Promise<Trial | null> => {
      const trial = await store.trialOf(db, nodeId)
      return trial === undefined || trial.phase === 'undone' ? null : trial
    },

    /** Whether this attempt was made with this configuration, and undone. */
    wasUndone: async (nodeId: string, attempt: string, yaml: string): Promise<Trial | null> => {
      const trial = await store.trialOf(db, nodeId)
      return trial?.phase === 'undone' && trial.attempt === attempt && trial.hash === digestOf(yaml)
        ? trial
        : null
    },

    /**
     * Runs `send` while nobody else gives the server a configuration; null, and nothing is sent,
     * while somebody does or a trial runs on the server. Every call that isn't a dry run stops the
     * timer of a trial.
     */
    alone,

    /**
     * Gives the machine a configuration on an open connection: on trial if its network changes, and
     * otherwise for good, by `send`. Null, and nothing is sent, while another run gives it one.
     */
    give: <T>(
      job: Job,
      server: ServerFacts,
      client: TalosClient,
      given: Given,
      send: () => Promise<T>,
    ): Promise<{ readonly trial: TrialResult } | { readonly sent: T } | null> =>
      alone(server.id, async () => {
        if (await isTried(server, given)) {
          const trial = await begin(job, server, client, given)
          if (trial.kind !== 'untriable') return { trial }
        }
        return { sent: await send() }
      }),

    /** Why a configuration that is sent on trial is not sent now; null if nothing prevents that. */
    whyNot: async (
      job: Job,
      server: ServerFacts,
      given: Pick<Given, 'yaml' | 'former' | 'consent'>,
    ): Promise<Waits | null> => {
      const why = await whyNotBegin(db, job, server)
      return why !== null && (await isTried(server, given)) ? why : null
    },

    /** Forgets a trial that was undone, because the server has got another configuration. */
    async clear(tx: Tx, nodeId: string): Promise<void> {
      await store.remove(tx, nodeId)
      await servers.noteTrial(tx, nodeId, null)
    },

    /** Takes the next step of a trial. */
    advance: follow,

    /**
     * Takes the next step of a trial whose operation has ended: nobody has saved the change, so it is
     * not confirmed any more.
     */
    giveUp: async (job: Job, server: ServerFacts, trial: Trial): Promise<TrialResult> => {
      if (trial.phase !== 'trying') return follow(job, server, trial)
      // The call that began the trial may still arrive.
      if (trial.answered_at === null && job.elapsedMs(trial.began_at) < tryDeadlineMs)
        return { kind: 'trying', reason: checkingSentence(server.name) }
      const given = { phase: 'undoing', reason: givenUpSentence(server.name) } as const
      await job.fence.write((tx) => store.update(tx, server.id, given))
      return follow(job, server, { ...trial, ...given })
    },
  }
}
