import { expect, test } from 'vitest'
import { clusterChange, clusterPlan, clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { clusterFilesHold } from '#contract/clusters/files.ts'
import { snapshotScheduleSet } from '#contract/clusters/changes/snapshots.ts'
import { patchCreate, patchList, patchMask, patchRemove, patchUpdate } from '#contract/patches.ts'
import { anOperation, pageOf } from '../testing/things.ts'
import { numberedServer } from '../testing/installation.ts'
import { datacenter, withRack, writes } from '../testing/rack.ts'

const member = (name: string, role = 'worker') => `  - {server: ${name}, role: ${role}}\n`
const web = (servers: readonly string[], more = '') =>
  `${datacenter}---\nkind: cluster\nname: web\ndatacenter: PL-POZ-1\n${more}servers:\n${servers.join('')}`
const first = [member('server-1', 'control_plane'), member('server-2')]
const summary = /^\d+ to create.*$/m

/** Servers 1 and 2 form the cluster web with Talos 1.13.0 and Kubernetes 1.36.3; 3 and 4 are free. */
async function running() {
  const site = [
    '---',
    ...[1, 2, 3, 4].flatMap((n) => [
      `kind: server`,
      `serial: S-${n}`,
      'datacenter: PL-POZ-1',
      '---',
    ]),
  ]
  const around = await withRack(
    [1, 2, 3, 4].map((n) => ({ ...numberedServer(n), datacenter: null })),
  )
  const made = await around.apply(`${web(first)}${site.join('\n')}`, '--yes --wait')
  expect(made.exit).toBe(0)
  const changes = () => around.there.running.changes
  return { ...around, changes, web: around.there.clusters[0]! }
}

test('a file changes servers, roles, versions, extensions and the endpoint, each with its plan, and the next plan is empty', async () => {
  const { there, apply, diff, changes, web: cluster } = await running()
  cluster.talos_version = 'v1.12.4'
  cluster.kubernetes_version = '1.34.1'
  there.servers[3]!.talos.installed = { version: 'v1.13.0', disk: '/dev/nvme0n1' } as never
  const text = web(
    [...first, member('server-3'), member('server-4')],
    'talos_version: v1.13.0\nkubernetes_version: 1.36.3\nextensions: [siderolabs/gvisor]\nendpoint: 10.0.4.99\nvirtual_ip: true\n',
  )
  const shown = await diff(text)
  expect(shown.exit).toBe(1)
  for (const line of [
    'Do grow',
    'kubernetes_version: 1.34.1 → 1.35.3',
    'talos_version: 1.12.4 → 1.13.0',
    'server-3: none → worker',
    'Do endpoint',
  ])
    expect(shown.out).toContain(line)
  expect(changes()).toEqual([])

  expect((await apply(text, '--yes --wait')).exit).toBe(0)
  expect(
    changes().map((c) =>
      c.kind === 'grow'
        ? `grow ${c.servers.length}`
        : 'version' in c
          ? `${c.kind} ${c.version}`
          : c.kind,
    ),
  ).toEqual([
    'grow 1',
    'upgradeKubernetes 1.35.3',
    'upgradeTalos v1.13.0',
    'upgradeKubernetes 1.36.3',
    'grow 1',
    'extensions',
    'endpoint',
  ])
  expect((await apply(text, '')).out).toMatch(
    /^0 to create, 0 to change, 0 to remove, 2 unchanged$/m,
  )
})

test('upgrades take a snapshot first, into the store of the schedule that the same file sets; --no-snapshot leaves it out', async () => {
  const { there, apply, changes } = await running()
  let plans = 0
  // The second plan, made when the schedule is set, is another one.
  there.api.on(clusterPlan, ({ body: { change } }) => ({
    kind: change.kind,
    checks: [],
    warnings: [],
    groups: [],
    disks: [],
    losses: [],
    differences: [],
    took_s: null,
    seen: String(++plans).padStart(64, '0'),
  }))
  const text = web(first, 'talos_version: v1.14.0\nsnapshots: {store: offsite, every_hours: 24}\n')
  expect((await apply(text, '--yes --wait')).exit).toBe(0)
  expect(there.api.callsOf(clusterChange)).toMatchObject([
    { body: { seen: '2'.padStart(64, '0') } },
  ])
  const again = await apply(
    web(first, 'kubernetes_version: 1.37.3\n'),
    '--yes --wait --no-snapshot',
  )
  expect(again.exit).toBe(0)
  expect(changes().map((c) => [c.kind, 'snapshot' in c && c.snapshot])).toEqual([
    ['upgradeTalos', true],
    ['upgradeKubernetes', false],
  ])
})

test('a server that left the file stays until --remove-server names it, and then leaves last', async () => {
  const { apply, diff, changes } = await running()
  const text = web([first[0]!, member('server-3')])
  const withheld = await diff(text)
  expect(withheld.exit).toBe(1)
  expect(withheld.out).toContain(
    'server-2 of the cluster web is not in its document. It is removed only with --remove-server server-2',
  )
  expect((await apply(text, '--yes --wait')).exit).toBe(0)
  expect(changes().map((c) => c.kind)).toEqual(['grow'])
  expect((await apply(text, '--yes')).out).toMatch(/0 to change.* 1 not confirmed$/m)

  const named = await diff(text, ' --remove-server server-2')
  expect(named.out).toContain('wipes 1 server: server-2, with its workload disks')
  expect((await apply(text, '--yes --remove-server server-2')).exit).toBe(0)
  expect(changes().at(-1)).toMatchObject({ kind: 'shrink' })
  expect(await apply(text, '--yes --remove-server server-2')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('--remove-server server-2 removes nothing') as string,
  })
})

test('what a plan refuses is refused with the place in the file, and nothing is changed', async () => {
  const { there, apply, changes } = await running()
  there.running.refused.upgradeTalos = 'etcd is not healthy'
  const before = writes(there).length
  const ran = await apply(web([...first, member('server-3')], 'talos_version: v1.14.0\n'))
  expect(ran).toMatchObject({ exit: 6, out: '' })
  expect(ran.err).toMatch(/racks\.yaml:6: Upgrade Talos: etcd is not healthy/)
  expect(changes()).toEqual([])
  expect(writes(there).slice(before)).toEqual(
    there.api.callsOf(clusterPlan).map(() => 'clusterPlan'),
  )

  const back = await apply(web(first, 'kubernetes_version: 1.35.3\n'))
  expect(back.err).toContain("racks.yaml:9: Kubernetes 1.36.3 can't go back to 1.35.3")
  expect(await apply(web([...first, member('server-9')]))).toMatchObject({
    exit: 6,
    err: expect.stringContaining('There is no server server-9') as string,
  })
})

test('while a change runs, apply says so and begins nothing; with --wait it follows and goes on', async () => {
  const { there, apply, changes, web: cluster } = await running()
  const target = { kind: 'cluster' as const, id: cluster.id, name: 'web' }
  there.operations.push(anOperation({ kind: 'clusterUpgradeKubernetes', target }))
  const text = web([...first, member('server-3')])
  const ran = await apply(text, '--yes')
  expect(ran.exit).toBe(0)
  expect(ran.out).toContain('cluster web waits: Upgrade Kubernetes of web is running: 0 of 0 steps')
  expect(changes()).toEqual([])
  const waited = await apply(text, '--yes --wait')
  expect(waited.err).toContain('Upgrade Kubernetes of web: done')
  expect(waited.exit).toBe(0)
  expect(changes().map((c) => c.kind)).toEqual(['grow'])
})

test('an addition of servers that failed is retried before anything else', async () => {
  const { there, apply, web: cluster } = await running()
  const text = web([...first, member('server-3')])
  await apply(text, '--yes')
  const failed = there.operations.at(-1)!
  Object.assign(failed, { status: 'failed', reason: 'server-3 did not answer' })
  cluster.operation_id = failed.id
  const ran = await apply(text, '--yes')
  expect(ran.out).toContain(
    'Add servers to web has failed (server-3 did not answer): it is retried',
  )
  expect(ran.out).toContain('begun     cluster web')
  expect(failed.status).toBe('running')
})

test('changes begin in the window or at a time, and a plan that needs no change asks nobody', async () => {
  const { there, apply } = await running()
  const text = web([...first, member('server-3')])
  expect((await apply(text, '--dry-run')).out).toMatch(summary)
  expect(there.api.callsOf(clusterChange)).toEqual([])
  expect((await apply(text, '--yes --in-window --at tomorrow')).exit).toBe(2)
  await apply(text, '--yes --in-window')
  expect(there.api.callsOf(clusterChange)).toMatchObject([
    { body: { start: { in_window: true }, change: { kind: 'grow' } } },
  ])
})

test('a file locks its cluster to its set, another set is refused, and only a person unlocks it', async () => {
  const { there, apply, diff, changes, cli, web: cluster } = await running()
  const locked = web(first, 'locked: true\n')
  expect((await apply(locked)).exit).toBe(0)
  expect(cluster.files).toMatchObject({ set: 'default' })
  expect((await apply(locked, '')).out).toContain('2 unchanged')
  expect((await cli.run('cluster show web')).out).toContain('Only the files of the set default')
  const other = await apply(web([...first, member('server-3')]), '--yes --set other')
  expect(other).toMatchObject({ exit: 6, out: '' })
  expect(other.err).toContain('Only the files of the set default change web')
  expect(changes()).toEqual([])
  const unlocked = await diff(web(first, 'locked: false\n'))
  expect(unlocked.exit).toBe(1)
  expect(unlocked.out).toContain('steelyard cluster release web')
  expect((await cli.run('cluster release web --yes')).out).toBe('web is released\n')
  expect(cluster.files).toBeNull()
  expect(there.api.callsOf(clusterFilesHold)).toHaveLength(1)
})

test('the window and the schedule of snapshots follow the file, and an export has them', async () => {
  const { there, apply, cli } = await running()
  const settings =
    'maintenance_window: {days: [sun, sat], from: "02:30", minutes: 240, time_zone: Europe/Warsaw}\nsnapshots: {store: offsite, every_hours: 6}\n'
  expect(await apply(web(first, settings))).toMatchObject({ exit: 0, err: '' })
  expect(there.api.callsOf(clusterWindowSet)).toHaveLength(1)
  expect(there.api.callsOf(snapshotScheduleSet)).toMatchObject([
    { body: { every_hours: 6, keep_count: 14 } },
  ])
  expect((await apply(web(first, settings), '')).out).toContain('2 unchanged')
  const { out } = await cli.run('export --kind cluster')
  expect(out).toContain('store: offsite')
  expect(out).toContain('time_zone: Europe/Warsaw')
  expect((await apply(web(first, 'snapshots: null\nmaintenance_window: null\n'))).exit).toBe(0)
  expect((await cli.run('export --kind cluster')).out).not.toContain('offsite')
  expect(await apply(web(first, 'snapshots: {store: none, every_hours: 6}\n'))).toMatchObject({
    exit: 6,
    err: expect.stringContaining('There is no store none') as string,
  })
})

const sysctls = (server: string, value: number) =>
  `---\nkind: patch\nserver: ${server}\nname: sysctls\nbody: |\n  machine:\n    sysctls: {a: "${value}"}\n`

test('patches of servers in a running cluster are one change of the cluster for the servers that get the same', async () => {
  const { there, apply, diff, changes } = await running()
  const [one, two] = there.servers.map((s) => s.id)
  const both = `${web(first)}${sysctls('server-1', 1)}${sysctls('server-2', 1)}`
  const planned = await diff(both)
  expect(planned.exit).toBe(1)
  expect(planned.out).toContain('cluster web (Change patches: one server after the other)')
  expect(planned.out).toContain('    patch sysctls of server-2:')
  expect(planned.out).toContain('Do configure')
  expect(changes()).toEqual([])

  expect((await apply(both, '--yes --wait --in-window')).exit).toBe(0)
  // Workers come first.
  expect(changes()).toMatchObject([
    { kind: 'configure', patches: [{ name: 'sysctls' }], remove: [], node_ids: [two, one] },
  ])
  expect(there.api.callsOf(clusterChange).at(-1)!.body).toMatchObject({
    start: { in_window: true },
  })
  expect(there.api.callsOf(patchCreate)).toEqual([])
  expect((await diff(both)).exit).toBe(0)

  // Servers that get different patches are different changes, which run after other changes.
  const later = `${web([...first, member('server-3')])}${sysctls('server-1', 2)}${sysctls('server-2', 3)}`
  expect((await apply(later, '--yes --wait')).exit).toBe(0)
  expect(changes().map((c) => c.kind)).toEqual(['configure', 'grow', 'configure', 'configure'])

  // What apply has created, prune removes, by a change too.
  const pruned = await apply(web([...first, member('server-3')]), '--prune --yes --wait')
  expect(pruned.exit).toBe(0)
  expect(changes().slice(4)).toMatchObject([
    { kind: 'configure', patches: [], remove: ['sysctls'], node_ids: [two, one] },
  ])
  expect([there.patches, there.applied.filter((a) => a.kind === 'patch')]).toEqual([[], []])
  expect(there.api.callsOf(patchRemove)).toEqual([])
})

test('a secret in a patch that the cluster has already is no difference, and a mask stands for the stored one', async () => {
  const { there, apply, diff, changes } = await running()
  const vpn = (value: string, port = 1) =>
    `${web(first)}---\nkind: patch\nserver: server-2\nname: vpn\nbody: |\n  key: ${value}\n  port: ${port}\n`
  expect((await apply(vpn('abc'), '--yes --wait')).exit).toBe(0)
  expect(changes().map((c) => c.kind)).toEqual(['configure'])
  there.api.on(patchList, ({ params }) =>
    pageOf(
      there.patches
        .filter((p) => p.node_id === params.id)
        .map((p) => ({ ...p, body: p.body.replace('abc', patchMask) })),
    ),
  )
  expect((await diff(vpn('abc'))).exit).toBe(0)
  expect((await diff(vpn('other'))).exit).toBe(1)
  const masked = await apply(vpn(patchMask, 2), '--yes --wait')
  expect(masked.out).toContain('the change is applied at once and may reboot it')
  expect(there.api.callsOf(patchUpdate)).toHaveLength(1)
})

test('patches of a cluster that is held by other files, refuses them or is busy change nothing', async () => {
  const { there, apply, changes, web: cluster } = await running()
  const text = sysctls('server-2', 1).slice(4)
  cluster.files = { set: 'rack-12', by: 'a@example.com', since: '2026-11-20T08:00:00.000Z' }
  expect(await apply(text)).toMatchObject({
    exit: 6,
    err: expect.stringContaining('Only the files of the set rack-12 change web') as string,
  })
  cluster.files = null
  there.running.refused.configure = 'etcd is not healthy'
  expect(await apply(text)).toMatchObject({
    exit: 6,
    err: expect.stringMatching(
      /racks\.yaml:1: Change patches of web: etcd is not healthy/,
    ) as string,
  })
  delete there.running.refused.configure
  const target = { kind: 'cluster' as const, id: cluster.id, name: 'web' }
  there.operations.push(anOperation({ kind: 'clusterUpgradeKubernetes', target }))
  expect((await apply(text)).out).toContain('patch sysctls of server-2 waits: Upgrade Kubernetes')
  expect(changes()).toEqual([])
  expect((await apply(text, '--yes --wait')).err).toContain('Upgrade Kubernetes of web: done')
  expect(changes().map((c) => c.kind)).toEqual(['configure'])
})
