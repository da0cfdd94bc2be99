import { randomUUID } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeConfig } from '../config/node-config.ts'
import type { Machine } from '../machine/machine.ts'
import { makeFolder, readState, writeState } from '../store.ts'
import { EtcdCluster, newId } from './etcd.ts'
import type { KubernetesState, Member, Stored } from './stored.ts'

const CALLS = 'bootstrap-calls.json'

/** Every etcd cluster that was ever made in this simulation. */
export class EtcdRegistry {
  readonly #folder: string
  readonly #calls: Record<string, number>
  readonly #clusters = new Map<string, EtcdCluster>()
  #machine: (index: number) => Machine | undefined = () => undefined

  constructor(folder: string) {
    this.#folder = makeFolder(folder)
    this.#calls = (readState(join(folder, CALLS)) as Record<string, number> | null) ?? {}
    for (const file of readdirSync(folder))
      if (file.endsWith('.json') && file !== CALLS)
        this.#add(readState(join(folder, file)) as Stored)
  }

  /** Sets the lookup of machines by number. */
  connect(machine: (index: number) => Machine | undefined): void {
    this.#machine = machine
  }

  /** Counts a bootstrap call for this Talos cluster id, even if the call fails. */
  countCall(talosId: string): void {
    this.#calls[talosId] = this.callsOf(talosId) + 1
    writeState(join(this.#folder, CALLS), this.#calls)
  }

  callsOf(talosId: string): number {
    return this.#calls[talosId] ?? 0
  }

  get all(): EtcdCluster[] {
    return [...this.#clusters.values()]
  }

  get(id: string): EtcdCluster | undefined {
    return this.#clusters.get(id)
  }

  /**
   * Makes a new etcd cluster with this machine as its only member, empty or with the content of a
   * snapshot. A second bootstrap with the same secrets makes a second cluster, as in reality.
   */
  create(
    machine: Machine,
    config: NodeConfig,
    recovered?: KubernetesState,
  ): { cluster: EtcdCluster; member: Member } {
    const member: Member = {
      id: newId(),
      machine: machine.plan.index,
      name: machine.hostname,
      address: machine.plan.address,
      learner: false,
    }
    const state: Stored = {
      id: randomUUID(),
      talosId: config.cluster.id,
      name: config.cluster.name,
      caCrt: config.cluster.etcdCa?.crt ?? '',
      createdBy: machine.plan.index,
      members: [member],
      term: 2,
      ...(recovered && { isRecovered: true }),
      kubernetes: recovered ?? { resourceVersion: 1, objects: {} },
    }
    const cluster = this.#add(state)
    cluster.change(() => undefined)
    return { cluster, member }
  }

  /**
   * Drops unfinished clusters. If the simulator is killed during a bootstrap, the cluster's file
   * may exist without the state of the machine's disk, which is written next. The bootstrap call
   * then got no response, and the machine's counter `bootstraps` doesn't include the cluster.
   */
  dropUnfinished(): void {
    for (const [id, { state }] of this.#clusters) {
      const maker = this.#machine(state.createdBy)
      const made = this.all.filter((cluster) => cluster.state.createdBy === state.createdBy).length
      if (
        !maker ||
        state.members.length !== 1 ||
        maker.disk.state.etcd?.cluster === id ||
        made <= maker.disk.state.counters.bootstraps
      )
        continue
      this.#clusters.delete(id)
      rmSync(join(this.#folder, `${id}.json`))
    }
  }

  /**
   * The etcd cluster that a configured control plane finds through discovery and can join: same
   * cluster id, same etcd authority, quorum.
   */
  joinable(config: NodeConfig): EtcdCluster | undefined {
    return this.all.find(
      (cluster) =>
        cluster.state.talosId === config.cluster.id &&
        cluster.state.caCrt === config.cluster.etcdCa?.crt &&
        cluster.hasQuorum,
    )
  }

  #add(state: Stored): EtcdCluster {
    const cluster = new EtcdCluster(join(this.#folder, `${state.id}.json`), state, (index) =>
      this.#machine(index),
    )
    this.#clusters.set(state.id, cluster)
    return cluster
  }
}
