/**
 * Servers and clusters without machines, and what is observed of them, for tests of findings:
 * contacts go through the real observer of servers, and what a cluster shows through the function of
 * its health watch. The rows of an operation, of a snapshot, of ending certificates and of an
 * unreachable Kubernetes API are written as their reconcilers write them.
 */
import { randomUUID } from 'node:crypto'
import type { Observed } from '../../../db/columns.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Backend } from '../../../testing/backend.ts'
import { observedOf } from '../../clusters/health/observed.ts'
import { noteObserved } from '../../clusters/health/store.ts'
import { buildCluster, buildServer } from '../../servers/testing.ts'

export interface Machine {
  readonly id: string
  readonly name: string
  readonly uuid: string
  readonly address: string
  readonly cluster: string | null
}
interface Cluster {
  readonly id: string
  readonly name: string
}

interface Built extends Cluster {
  readonly machines: readonly Machine[]
}
/** What is not well in a cluster of three control planes. */
interface Ill {
  /** Of the etcd of the first. */
  readonly alarm?: 'nospace'
  /** Why the API server of the second is not ready. */
  readonly api?: string
  /** Disk of the third that is gone. */
  readonly disk?: string
}

export function observing(backend: Backend) {
  const { clock } = backend
  const { db } = backend.platform
  const now = () => new Date(clock.now())

  let added = 1
  const add = async (name: string, datacenter_id: string, cluster: Cluster | null = null) => {
    const uuid = randomUUID()
    const address = `10.2.${added >> 8}.${added++ & 255}`
    const id = await buildServer(backend, {
      name,
      uuid,
      address,
      datacenter_id,
      reachable: true,
      stage: cluster === null ? 'maintenance' : 'running',
      ...(cluster !== null && {
        status: 'ready',
        cluster_id: cluster.id,
        cluster_name: cluster.name,
      }),
    })
    return { id, name, uuid, address, cluster: cluster?.id ?? null } satisfies Machine
  }
  /** A ready cluster of three control planes and some workers, which are named after it. */
  async function cluster(name: string, datacenterId: string, workers = 0) {
    const at = now()
    const whole = { id: randomUUID(), name }
    await buildCluster(backend, whole.id, name, datacenterId)
    await db
      .updateTable('cluster')
      .set({ status: 'ready', ready_at: at, control_plane_at: at, nodes_ready_at: at })
      .where('id', '=', whole.id)
      .execute()
    const machines: Machine[] = []
    for (let i = 1; i <= 3 + workers; i++)
      machines.push(await add(`${name}-${i}`, datacenterId, whole))
    await db
      .insertInto('cluster_server')
      .values(
        machines.map(({ id, name: of }, position) => ({
          cluster_id: whole.id,
          node_id: id,
          name: of,
          role: position < 3 ? ('control_plane' as const) : ('worker' as const),
          position,
          install_disk: '/dev/sda',
          install_image: '',
          at_since: at,
          node_ready_at: at,
          etcd_at: position < 3 ? at : null,
        })),
      )
      .execute()
    return { ...whole, machines }
  }

  const datacenter = async (city: string) =>
    db
      .insertInto('datacenter')
      .values({
        country_code: 'DE',
        city_code: city,
        city_name: city,
        index: 1,
        created_at: now(),
        updated_at: now(),
      })
      .returning(['id', 'code'])
      .executeTakeFirstOrThrow()
  /** Contacts as the loop of contacts reports them. */
  const contacts = async (machines: readonly Machine[], answers: boolean) =>
    backend.domains.servers.contact.observe(
      machines.map(({ id, uuid, address, cluster: clusterId }) => ({
        serverId: id,
        uuid,
        serial: 'S1',
        address,
        clusterId,
        askedAt: clock.now(),
        at: clock.now(),
        ...(answers
          ? {
              kind: 'seen' as const,
              status: {
                stage: clusterId === null ? 'maintenance' : 'running',
                ready: true,
                unmet: [],
              } as never,
              fingerprint: null,
              reading: null,
              usage: null,
            }
          : { kind: 'missed' as const, reason: 'connection refused', unreachable: true }),
      })),
    )

  /** The kube-apiserver of lost clusters does not answer, as the watch of clusters notes. */
  const kubernetes = async ({ id }: Cluster, answers: boolean) =>
    db
      .updateTable('cluster')
      .set(
        answers
          ? { misses: 0, reason: null, problem: null, problem_since: null }
          : {
              misses: 2,
              reason: 'The Kubernetes API does not answer: connection refused',
              problem: 'api',
              problem_since: now(),
            },
      )
      .where('id', '=', id)
      .execute()

  const observations = new Map<string, Observed>()
  /** What the health watch saw of a cluster of three control planes. */
  const looks = ({ id, machines }: Built, ill: Ill = {}) => {
    const seen = {
      etcd: machines.map((m, i) => ({
        id: m.id,
        node_id: m.id,
        name: m.name,
        leader: i === 0,
        learner: false,
        version: '3.6.12',
        size_bytes: 10,
        in_use_bytes: 5,
        alarms: i === 0 && ill.alarm !== undefined ? [ill.alarm] : [],
        healthy: true,
        reason: null,
      })),
      api_servers: machines.map((m, i) => ({
        node_id: m.id,
        name: m.name,
        ready: i !== 1 || ill.api === undefined,
        reason: i === 1 ? (ill.api ?? null) : null,
        isOwnDelay: false,
      })),
      missing_disks:
        ill.disk === undefined
          ? []
          : [{ node_id: machines[2]!.id, name: machines[2]!.name, device: ill.disk }],
    }
    const observed = observedOf(observations.get(id) ?? null, seen, {
      at: clock.now(),
      isChanging: false,
    })
    observations.set(id, observed)
    return inTransaction(db, (tx) => noteObserved(tx, id, observed))
  }

  /** An upgrade of Talos that failed at the second server. Returns its id. */
  const stopUpgrade = async (halted: Built) => {
    const at = now()
    const { id } = await db
      .insertInto('operation')
      .values({
        kind: 'clusterUpgradeTalos',
        target_kind: 'cluster',
        target_id: halted.id,
        target_name: halted.name,
        status: 'failed',
        reason: `${halted.machines[1]!.name} does not come back`,
        arguments: JSON.stringify({ change: { kind: 'upgrade_talos', version: 'v1.14.1' } }),
        created_by_name: 'ada@example.com',
        created_at: at,
        ended_at: at,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db
      .insertInto('operation_step')
      .values(
        halted.machines.map((m, position) => ({
          operation_id: id,
          key: `upgrade/${m.id}`,
          position,
          title: `Upgrade ${m.name}`,
          node_id: m.id,
          status: (['done', 'failed', 'todo'] as const)[position]!,
        })),
      )
      .execute()
    await db.updateTable('cluster').set({ operation_id: id }).where('id', '=', halted.id).execute()
    return id
  }

  /** Lets a schedule take snapshots of the cluster. Returns what notes how one ended. */
  const schedule = async (of: Cluster) => {
    const times = { created_at: now(), updated_at: now() }
    const { id: store_id } = await db
      .insertInto('store')
      .values({ name: 's', kind: 'folder', folder: '/x', ...times })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db
      .insertInto('snapshot_schedule')
      .values({ cluster_id: of.id, store_id, every_hours: 24, at_hour: 2, ...times })
      .execute()
    return snapshot(of, store_id)
  }
  const snapshot = (of: Cluster, store_id: string) => (status: 'failed' | 'ready') =>
    db
      .insertInto('snapshot')
      .values({
        cluster_id: of.id,
        cluster_name: of.name,
        store_id,
        object_key: status,
        made_by: 'schedule',
        status,
        created_at: now(),
        updated_at: now(),
        ...(status === 'failed'
          ? { reason: 'The store refused the file: no space left.' }
          : {
              taken_at: now(),
              verified_at: now(),
              sha256: '0'.repeat(64),
              size_bytes: 1,
              stored_bytes: 1,
            }),
      })
      .execute()

  const certificates = (of: Cluster, all: readonly object[] | null) =>
    db
      .updateTable('cluster')
      .set({ certificates_ending: all === null ? null : JSON.stringify(all) })
      .where('id', '=', of.id)
      .execute()

  return {
    add,
    cluster,
    datacenter,
    contacts,
    kubernetes,
    looks,
    stopUpgrade,
    schedule,
    certificates,
  }
}
