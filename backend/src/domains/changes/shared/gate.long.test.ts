/**
 * Every kind of change against every component that doesn't come back on the first control plane
 * that it changes: no second control plane is touched.
 */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import type { ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import { hasEnded } from '#contract/operations.ts'
import { patchCreate } from '#contract/patches.ts'
import { serverDrift, serverDriftOverwrite } from '#contract/servers/drift.ts'
import { type Server, serverCommands } from '#contract/servers/servers.ts'
import { type Component, COMPONENTS as components } from '#simulator/src/fleet/faults.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { connectSecure } from '#talos/client/connect.ts'
import { readFound } from '#talos/client/found.ts'
import { mergePatches } from '#talos/config/merge.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { olderThan, onEachMinor } from '../../clusters/testing/minors.ts'
import { upgradeWorld } from '../talos-upgrade/testing.ts'

onEachMinor(async (minor) => {
  /** Workload disks of the first server, one for each component that ends at a wipe. */
  const disksToWipe = ['nvme0n1', 'nvme1n1', 'nvme2n1', 'nvme3n1']
  const special = {
    1: {
      hardware: 'dell-r760',
      contents: Object.fromEntries(disksToWipe.map((disk) => [disk, 'ext4'])),
    },
  }
  const { talos: older, kubernetes: olderKubernetes } = olderThan(minor)
  const world = await clusterWorld({ minor, servers: 24, seed: 'gate', talos: older, special })
  const { ready, plan } = upgradeWorld(world)
  const sysctl = (value: number) => ({
    name: 'swap',
    weight: 500,
    labels: {},
    body: `machine:\n  sysctls:\n    vm.swappiness: "${value}"\n`,
  })

  /** The changes of one cluster, in which each differs from the one before. */
  const kinds: Record<string, (round: number) => ClusterChangeInput> = {
    configure: (round) => ({ kind: 'configure', patches: [sysctl(100 + round)] }),
    endpoint: (round) => ({
      kind: 'endpoint',
      endpoint: `127.20.255.${70 + (round % 2)}`,
      virtual_ip: true,
    }),
    extensions: (round) => ({ kind: 'extensions', kernel_args: [`panic=${10 + round}`] }),
    upgradeTalos: (round) => ({
      kind: 'upgradeTalos',
      version: round % 2 === 0 ? minor.version : older,
    }),
    ...Object.fromEntries(
      (['aggregator_ca', 'talos_ca', 'kubernetes_ca', 'tokens'] as const).map((what) => [
        `rotate ${what}`,
        (): ClusterChangeInput => ({ kind: 'rotate', what }),
      ]),
    ),
  }

  /** The change waits, no other control plane has changed, and the change goes on afterwards. */
  const stopped = { wasOver: false, isUntouched: true, end: 'done' }

  const stateOf = (node: Server) => {
    const { config, counters } = world.machine(node).disk.state
    return { config, boots: counters.boots }
  }

  /** Changes a server as talosctl does, without Steelyard. */
  async function changeOutside(clusterId: string, node: Server, value: string): Promise<void> {
    const admin = { role: 'os:admin', lifetimeMs: 3_600_000 } as const
    const keys = await world.backend.domains.clusters.talosCredentials(clusterId, admin)
    const client = await connectSecure({ host: world.machine(node).plan.address }, keys!, {
      deadlineMs: 10_000,
    })
    try {
      const body = `machine:\n  sysctls:\n    vm.max_map_count: "${value}"\n`
      const { active } = await readFound(client)
      const { yaml } = mergePatches(active, [{ name: 'theirs', body }])
      await client.applyConfiguration(yaml, { mode: 'auto' })
    } finally {
      client.close()
    }
  }

  /**
   * `nodes`: three control planes and a worker. Fails the component on the first control plane of the plan, and
   * tells whether the others stay as they are until it is back.
   */
  async function breakFirst(
    clusterId: string,
    nodes: readonly Server[],
    change: ClusterChangeInput,
    component: Component,
  ): Promise<{ wasOver: boolean; isUntouched: boolean; end: string }> {
    const planned = await world.until(
      () => plan(clusterId, change),
      ({ checks }) => checks.every((c) => c.ok),
    )
    const firstId = planned.groups.find((g) =>
      g.steps.some(({ key }) => key.startsWith('control-plane/')),
    )!.node_id
    const first = nodes.find((n) => n.id === firstId)!
    const others = nodes.slice(0, 3).filter((n) => n !== first)
    await addFault(world.machine(first), { kind: 'component-fails', component })
    const before = others.map(stateOf)
    const names =
      component === 'kube-apiserver' ? /API server|kube-apiserver/ : RegExp(component, 'i')
    const { id } = await world.change(clusterId, change)
    const waits = await world.until(
      () => world.operation(id),
      (o) =>
        hasEnded(o) ||
        o.steps.some(
          ({ status, reason }) =>
            status === 'waiting' && reason?.includes(first.name) === true && names.test(reason),
        ),
    )
    const isUntouched = isDeepStrictEqual(others.map(stateOf), before)
    await clearFaults(world.machine(first))
    const ended = await world.until(() => world.operation(id), hasEnded)
    return { wasOver: hasEnded(waits), isUntouched, end: ended.status }
  }

  describe('changes of one cluster', async () => {
    const { nodes, cluster } = await ready(4, { talos_version: older })
    for (const [kind, changeOf] of Object.entries(kinds))
      for (const [round, component] of components.entries())
        test(`${kind}: ${component}`, { timeout: 600_000 }, async () => {
          expect(await breakFirst(cluster.id, nodes, changeOf(round), component)).toEqual(stopped)
        })

    // A kubelet that runs ends only with the next configuration or boot, which a wipe doesn't bring.
    test.each(components.filter((one) => one !== 'kubelet'))(
      'disks: %s',
      { timeout: 600_000 },
      async (component) => {
        const [first, ...others] = nodes.slice(0, 3) as [Server, Server, Server]
        const machine = world.machine(first)
        const disk = disksToWipe[components.indexOf(component)]!
        const change = async (more: object) => {
          const asked = { kind: 'disks' as const, node_id: first.id, ...more }
          const { disks } = await plan(cluster.id, asked)
          const confirmed = disks.flatMap((d) => d.by ?? [])
          return world.change(cluster.id, asked, confirmed)
        }
        const added = await change({ add: [`/dev/${disk}`] })
        expect(await world.ended(added.id)).toMatchObject({ status: 'done' })
        const before = others.map(stateOf)
        // The component ends at the moment of the wipe.
        const write = machine.disk.change.bind(machine.disk)
        const spy = vi.spyOn(machine.disk, 'change').mockImplementation((act) => {
          write(act)
          if (machine.disk.state.contents?.[disk] !== undefined) return
          spy.mockRestore()
          void addFault(machine, { kind: 'component-fails', component, config: 'machine:' })
        })
        const { id } = await change({ remove: [`/dev/${disk}`], wipe: true })
        const waits = await world.until(
          () => world.operation(id),
          (o) =>
            hasEnded(o) ||
            o.steps.some(
              ({ status, reason }) => status === 'waiting' && reason?.includes(first.name) === true,
            ),
        )
        expect(waits).toMatchObject({ status: 'running', reason: null })
        expect(others.map(stateOf)).toEqual(before)
        await clearFaults(machine)
        expect(await world.ended(id)).toMatchObject({ status: 'done' })
      },
    )

    test.each(components)(
      'drift of one control plane that is overwritten: %s',
      { timeout: 600_000 },
      async (component) => {
        const pair = nodes.slice(0, 2) as [Server, Server]
        const [first, second] = pair
        const machine = world.machine(first)
        const seen: string[] = []
        for (const node of pair) {
          await changeOutside(cluster.id, node, `262${144 + components.indexOf(component)}`)
          const { answer } = await world.admin.call(serverDrift, { params: { id: node.id } })
          seen.push(answer!.seen!)
        }
        const overwrite = (at: 0 | 1) =>
          world.admin.call(serverDriftOverwrite, {
            params: { id: pair[at].id },
            body: { seen: seen[at]! },
          })
        await addFault(machine, { kind: 'component-fails', component })
        const before = stateOf(second)
        expect((await overwrite(0)).problem).toBeUndefined()
        const isHeld = () => world.server(first.id).then(({ drift }) => drift === null)
        await world.until(isHeld, (is) => is)
        const refused = await world.until(
          () => overwrite(1),
          ({ problem }) => problem?.code === 'cluster_not_ready',
        )
        expect(refused.problem!.error).toContain(first.name)
        expect(stateOf(second)).toEqual(before)
        await clearFaults(machine)
        await world.until(
          async () => {
            await overwrite(1)
            return world.server(second.id)
          },
          ({ drift }) => drift === null,
        )
      },
    )

    test('control planes that are rebooted at once restart one after another', async () => {
      const three = nodes.slice(0, 3)
      let mostAway = 0
      const timer = setInterval(() => {
        const away = three.filter((n) => world.machine(n).stage.stage !== 'running')
        mostAway = Math.max(mostAway, away.length)
      }, 3)
      const asked = await Promise.all(
        three.map(({ id }) => world.admin.call(serverCommands.serverReboot, { params: { id } })),
      )
      const ends = await Promise.all(asked.map(({ answer }) => world.ended(answer!.operation.id)))
      clearInterval(timer)
      expect(ends.map(({ status }) => status)).toEqual(['done', 'done', 'done'])
      expect(mostAway).toBe(1)
    }, 900_000)

    test.each(components)(
      'a patch of one control plane: %s',
      { timeout: 600_000 },
      async (component) => {
        const [first, second] = nodes as [Server, Server]
        const machine = world.machine(first)
        await addFault(machine, { kind: 'component-fails', component })
        const before = stateOf(second)
        const patch = { ...sysctl(1), name: `one-${component.replace('kube-', '')}` }
        const saved = await world.admin.call(patchCreate, { params: { id: first.id }, body: patch })
        expect(saved.problem).toBeUndefined()
        const checks = () => plan(cluster.id, kinds['configure']!(50))
        // The patch restarts nothing, so the component ends a moment after the server has it.
        await world.until(checks, (planned) => planned.checks.some((c) => !c.ok))
        const refused = await world.admin.call(patchCreate, {
          params: { id: second.id },
          body: patch,
        })
        expect(refused.problem).toMatchObject({ code: 'cluster_not_ready' })
        expect(refused.problem!.error).toContain(first.name)
        expect(stateOf(second)).toEqual(before)
        await clearFaults(machine)
        await world.until(checks, (planned) => planned.checks.every((c) => c.ok))
      },
    )
  })

  describe('an upgrade of Kubernetes', () => {
    test.each(components)('%s', { timeout: 900_000 }, async (component) => {
      const { nodes, cluster } = await ready(4, {
        talos_version: older,
        kubernetes_version: olderKubernetes,
      })
      const change = { kind: 'upgradeKubernetes', version: minor.kubernetes } as const
      expect(await breakFirst(cluster.id, nodes, change, component)).toEqual(stopped)
    })
  })
})
