/**
 * Kills the program around each effect of changes of configurations: patches, Kubernetes, endpoint,
 * workload disks.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  clusterChange,
  type ClusterChangeInput,
  clusterPlan,
} from '#contract/clusters/changes/changes.ts'
import { type Cluster, clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { patchList } from '#contract/patches.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import { spread } from '../../../../tools/testing/length.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { changedAt, type Installation } from '../killing.ts'
import { ended, patiently } from '../world.ts'

/** The first two servers of the site have this, and are the ones of this file. */
export const withDisks = { hardware: 'gigabyte-r152', contents: { nvme1n1: 'ext4' } }

export const killConfigurations = (installation: Installation): void =>
  void describe('configurations of a cluster', () => {
    const { site, call } = installation
    let nodes: readonly Server[] = []
    let cluster: Cluster

    beforeAll(async () => {
      nodes = await site.take(call, 2)
      const servers = nodes.map(({ id }, i) => ({
        node_id: id,
        role: i === 0 ? ('control_plane' as const) : ('worker' as const),
      }))
      const versions = { talos_version: 'v1.13.9', kubernetes_version: '1.35.1' }
      const made = await call(clusterCreate, {
        body: {
          name: 'kill-configurations',
          datacenter_id: site.datacenterId,
          servers,
          ...versions,
        },
      })
      expect((await ended(call, made.operation.id)).status).toBe('done')
      cluster = made.cluster
    }, 120_000)

    /** Changes the cluster with a program that is killed at `point`. */
    async function changed(point: string, change: ClusterChangeInput): Promise<void> {
      const { disks } = await call(clusterPlan, { params: { id: cluster.id }, body: { change } })
      const confirmed_disks = disks.flatMap((d) => d.by ?? [])
      await changedAt(installation, point, { clusterId: cluster.id, change, confirmed_disks })
      for (const node of nodes)
        expect(await patiently(() => call(serverGet, { params: { id: node.id } }))).toMatchObject({
          operation_id: null,
          drift: null,
        })
    }

    const patchesOf = async (node: Server) =>
      (await patiently(() => call(patchList, { params: { id: node.id } }))).items
        .filter((p) => !p.read_only)
        .map((p) => p.body)
    const countersOf = async (node: Server) =>
      (await site.simulator.counters()).servers.find(
        (s) => s.uuid.toLowerCase() === node.identity.uuid,
      )!
    const reached = async (id: string): Promise<Server> => {
      for (const end = Date.now() + 90_000; ;) {
        const server = await patiently(() => call(serverGet, { params: { id } }))
        if (server.talos.reachable === true) return server
        if (Date.now() > end) throw new Error(`${server.name} does not answer`)
        await pause(200)
      }
    }
    const now = () => patiently(() => call(clusterGet, { params: { id: cluster.id } }))

    test.each(
      spread(
        [
          ['before a configuration is sent', 'configure:before', '1'],
          ['after a configuration was sent', 'configure:after', '2'],
        ],
        1,
      ),
    )(
      'a change of patches interrupted by kill −9 %s ends with the patch on every server, sent once',
      { timeout: 180_000 },
      async (_name, point, value) => {
        const body = `machine:\n  sysctls:\n    vm.swappiness: "${value}"\n`
        const before = await Promise.all(nodes.map(countersOf))
        await changed(point, { kind: 'configure', patches: [{ name: 'panic', body }] })
        for (const node of nodes) expect(await patchesOf(node)).toEqual([body])
        expect(
          (await Promise.all(nodes.map(countersOf))).map((c, i) => [
            c.applies - before[i]!.applies,
            c.boots - before[i]!.boots,
          ]),
        ).toEqual([
          [1, 0],
          [1, 0],
        ])
      },
    )

    longTest.each([
      ['before it is tried', 'trial:before', 9101],
      ['after it was sent on trial', 'trial:after', 9102],
      ['before it is confirmed', 'confirm-trial:before', 9103],
      ['after it was confirmed', 'confirm-trial:after', 9104],
    ])(
      'a change of the network interrupted by kill −9 %s ends with the change on every server, and with no trial',
      { timeout: 240_000 },
      async (_name, point, port) => {
        const body = `apiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: rule-${port}\nportSelector:\n  ports: [${port}]\n  protocol: tcp\ningress:\n  - subnet: 10.0.0.0/8\n`
        await changed(point, { kind: 'configure', patches: [{ name: `rule-${port}`, body }] })
        for (const node of nodes) {
          expect(await patchesOf(node)).toContain(body)
          const { trial } = await patiently(() => call(serverGet, { params: { id: node.id } }))
          expect(trial).toBeNull()
        }
      },
    )

    longTest.each([
      ['before it is tried', 'trial:before'],
      ['after it was sent on trial', 'trial:after'],
      ['right after it was asked for', 300],
      ['while the server is away', 3_000],
      ['when its time ends', 6_000],
      ['when the server is back', 8_500],
    ] as const)(
      'a change that cuts a server off, interrupted by kill −9 %s, is undone and told, and no other server is touched',
      { timeout: 240_000 },
      async (_name, when) => {
        const [controlPlane, worker] = nodes as [Server, Server]
        const before = await Promise.all(nodes.map(countersOf))
        const had = await Promise.all(nodes.map(patchesOf))
        // A VLAN with DHCP may get an address, so that Steelyard doesn't refuse it.
        const link = worker.resources.interfaces.find((i) => i.link_state === true)!.id
        const vlan = 'mgmt.100'
        const body = `apiVersion: v1alpha1\nkind: LinkConfig\nname: ${link}\n---\napiVersion: v1alpha1\nkind: VLANConfig\nname: ${vlan}\nvlanID: 100\nparent: ${link}\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: ${vlan}\n`
        const change: ClusterChangeInput = { kind: 'configure', patches: [{ name: 'vlan', body }] }
        const ask = () =>
          patiently(() =>
            call(clusterChange, {
              params: { id: cluster.id },
              body: { change, confirmed_disks: [] },
            }),
          )
        const settings = { STEELYARD_TRIAL_SECONDS: '5' }
        const { operation } = await (typeof when === 'string'
          ? installation.killedAt(when, ask, settings)
          : installation.killedAfter(when, ask, settings))
        const end = await ended(call, operation.id, 150_000)
        expect(end.status).toBe('failed')
        expect(end.steps.find((s) => s.key === `configure/${worker.id}`)).toMatchObject({
          status: 'failed',
          reason: 'The server did not answer within 5 s with the change, so Talos has undone it',
        })
        const after = await Promise.all(nodes.map(countersOf))
        expect(after[0]!.applies).toBe(before[0]!.applies)
        expect(after[1]!.applies - before[1]!.applies).toBeLessThanOrEqual(1)
        expect(await Promise.all(nodes.map(patchesOf))).toEqual(had)
        for (const { id } of [controlPlane, worker]) {
          const server = await reached(id)
          expect(server).toMatchObject({ trial: null, drift: null, operation_id: null })
        }
      },
    )

    longTest.each([
      ['after the node was cordoned', 'cordon:after', 'a'],
      ['before the node is uncordoned', 'uncordon:before', 'b'],
    ])(
      'a change that restarts a server, interrupted by kill −9 %s, restarts the server once',
      { timeout: 180_000 },
      async (_name, point, value) => {
        const body = `machine:\n  udev:\n    rules:\n      - ACTION=="add", ENV{X}="${value}"\n`
        const worker = nodes[1]!
        const { boots } = await countersOf(worker)
        await changed(point, {
          kind: 'configure',
          patches: [{ name: 'devices', body }],
          node_ids: [worker.id],
        })
        expect((await countersOf(worker)).boots).toBe(boots + 1)
      },
    )

    longTest.each([
      ['after an image was configured', 'configure:after', '1.35.2'],
      ['before the manifests are applied', 'manifests:before', '1.35.3'],
      ['after the manifests were applied', 'manifests:after', '1.35.4'],
    ])(
      'an upgrade of Kubernetes interrupted by kill −9 %s ends with every program upgraded',
      { timeout: 180_000 },
      async (_name, point, version) => {
        await changed(point, { kind: 'upgradeKubernetes', version })
        expect((await now()).kubernetes_version).toBe(version)
      },
    )

    longTest(
      'a change of the endpoint interrupted by kill −9 ends with the new endpoint',
      { timeout: 180_000 },
      async () => {
        const { endpoint } = await now()
        const virtual = new URL(endpoint).hostname.replace(/\d+$/, '200')
        await changed('configure:after', { kind: 'endpoint', endpoint: virtual, virtual_ip: true })
        expect(await now()).toMatchObject({ endpoint: `https://${virtual}:6443`, virtual_ip: true })
      },
    )

    longTest(
      'a wipe of a workload disk interrupted by kill −9 ends with the disk removed',
      { timeout: 180_000 },
      async () => {
        const worker = nodes[1]!
        const disk = worker.resources.disks.find((d) => d.content !== 'empty')
        const change = (more: object): ClusterChangeInput => ({
          kind: 'disks',
          node_id: worker.id,
          ...more,
        })
        const params = { id: cluster.id }
        const add = change({ add: [disk!.id] })
        const plan = await call(clusterPlan, { params, body: { change: add } })
        const { operation } = await call(clusterChange, {
          params,
          body: { change: add, confirmed_disks: plan.disks.flatMap((d) => d.by ?? []) },
        })
        expect((await ended(call, operation.id)).status).toBe('done')
        await changed('wipe:after', change({ remove: [disk!.id], wipe: true }))
        expect((await now()).servers.find((s) => s.node_id === worker.id)!.workload_disks).toEqual(
          [],
        )
      },
    )
  })
