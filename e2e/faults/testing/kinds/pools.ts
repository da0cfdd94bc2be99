/** Kills the program while subnets are assigned to a cluster and unassigned. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import {
  clusterSubnetsAssign,
  type Subnet,
  subnetCreate,
  subnetGet,
} from '#contract/network/subnets.ts'
import type { Installation } from '../killing.ts'
import { create, dismiss, ended, findings, patiently } from '../world.ts'

export const killAssignments = ({ site, call, killedAt }: Installation): void =>
  void describe('subnets of a cluster', () => {
    let cluster: Cluster
    let net = 0

    beforeAll(async () => {
      const made = await create(call, site, 'pools', await site.take(call, 1))
      expect((await ended(call, made.operation.id)).status).toBe('done')
      cluster = made.cluster
    }, 90_000)

    /** Pools of the simulated cluster, by name. */
    const pools = async ({ name } = cluster) => {
      const { pools: held } = await site.simulator.ask<{
        pools: { name: string; spec: { disabled?: boolean } }[]
      }>('GET', `/clusters/${name}`)
      return Object.fromEntries(held.map((p) => [p.name, p.spec.disabled === true]))
    }
    const look = (subnet: Subnet) => patiently(() => call(subnetGet, { params: { id: subnet.id } }))
    const assign = (subnets: readonly Subnet[], force = false) =>
      patiently(() =>
        call(clusterSubnetsAssign, {
          params: { id: cluster.id },
          body: { subnet_ids: subnets.map((s) => s.id), force },
        }),
      )
    const add = (): Promise<Subnet> => {
      const n = ++net
      return patiently(() =>
        call(subnetCreate, {
          body: {
            name: `net-${n}`,
            cidr: `203.0.113.${n * 16}/28`,
            datacenter_id: site.datacenterId,
          },
        }),
      )
    }

    const endOf = async (point: string, act: () => ReturnType<typeof assign>) =>
      ended(call, (await killedAt(point, act)).operation.id)

    test.each(['pool:before', 'pool:after', 'announce:before', 'announce:after'])(
      'a subnet assignment interrupted by kill −9 at %s ends with an active pool in the cluster',
      async (point) => {
        const subnet = await add()
        const end = await endOf(point, () => assign([subnet]))
        expect({ status: end.status, open: end.steps.filter((s) => s.status !== 'done') }).toEqual({
          status: 'done',
          open: [],
        })
        expect(await look(subnet)).toMatchObject({
          status: 'active',
          reason: null,
          clusters: [{ id: cluster.id }],
        })
        expect(await pools()).toEqual({ [`subnet-${subnet.id}`]: false })
        await ended(call, (await assign([], true)).operation.id)
        expect(await pools()).toEqual({})
      },
    )

    test.each(['access:after', 'pool:before', 'pool:after', 'announce:after'])(
      'the creation of a cluster with subnets interrupted by kill −9 at %s ends with a ready cluster and active pools',
      async (point) => {
        const [nodes, subnets] = [await site.take(call, 1), [await add(), await add()]]
        const made = await killedAt(point, () =>
          create(call, site, `with-${point.replace(':', '-')}`, nodes, {
            subnet_ids: subnets.map((s) => s.id),
          }),
        )
        const end = await ended(call, made.operation.id)
        expect(await findings(call, site, made.cluster.id, nodes, end)).toEqual([])
        // The load balancer gets them after the operation, once the cluster is ready.
        for (const subnet of subnets)
          await expect
            .poll(() => look(subnet), { interval: 200 })
            .toMatchObject({ status: 'active', reason: null, clusters: [{ id: made.cluster.id }] })
        expect(await pools(made.cluster)).toEqual(
          Object.fromEntries(subnets.map((s) => [`subnet-${s.id}`, false])),
        )
        await dismiss(call, site, made.cluster.id, nodes)
        for (const subnet of subnets)
          expect(await look(subnet)).toMatchObject({ status: 'unassigned', clusters: [] })
      },
    )

    test.each(['remove:before', 'remove:after', 'unannounce:after'])(
      'a subnet unassignment interrupted by kill −9 at %s ends with no pool in the cluster and the subnet free',
      async (point) => {
        const subnet = await add()
        await ended(call, (await assign([subnet])).operation.id)
        expect((await endOf(point, () => assign([], true))).status).toBe('done')
        expect(await look(subnet)).toMatchObject({ status: 'unassigned', clusters: [] })
        expect(await pools()).toEqual({})
      },
    )
  })
