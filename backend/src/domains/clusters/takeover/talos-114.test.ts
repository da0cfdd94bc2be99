/** Clusters on Talos 1.14 that others have made with talosctl, in each form of configuration. */
import { describe, expect, test } from 'vitest'
import { type ClusterChangeInput, clusterPlan } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { clusterImport, clusterImportPreview } from '#contract/clusters/takeover.ts'
import { patchCreate } from '#contract/patches.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import { type Server, serverList, serverRemove } from '#contract/servers/servers.ts'
import type { Simulator } from '#simulator/src/start.ts'
import { connectMaintenance, readCertificate } from '#talos/client/connect.ts'
import { generateConfig } from '#talos/config/generate.ts'
import { generateSecrets, type SecretsBundle, writeSecrets } from '#talos/secrets/bundle.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { clusterWorld } from '../testing/world.ts'
import { adminOf, outside } from './testing.ts'

type Machine = Simulator['servers'][number]
type Contract = 'v1.13' | 'v1.14'

const talos = 'v1.14.1'
const world = await clusterWorld({ servers: longTests ? 7 : 2, seed: 'takeover-114', talos })
const { admin, datacenterId } = world

const isUp = ({ stage }: Machine) => stage.stage === 'running' && stage.ready
const textOf = (machine: Machine): string => machine.disk.state.config ?? ''
const inDocuments = (machine: Machine): boolean => textOf(machine).includes('kind: KubeletConfig')

const when = (is: () => boolean) =>
  world.until(
    () => Promise.resolve(is()),
    (yes) => yes,
  )

async function give(machine: Machine, config: string): Promise<void> {
  const target = { host: machine.plan.address }
  const client = await connectMaintenance(target, await readCertificate(target), {
    deadlineMs: 10_000,
  })
  try {
    await client.applyConfiguration(config, { mode: 'auto' })
  } finally {
    client.close()
  }
}

/**
 * Makes a cluster as talosctl does (`gen config`, `apply-config`, `bootstrap`), of machines that
 * Steelyard doesn't know. The first is the control plane.
 * @param contracts the option `--talos-version` for each machine's configuration
 */
async function made(
  clusterName: string,
  contracts: readonly Contract[],
  edit: (config: string) => string = (config) => config,
): Promise<{ bundle: SecretsBundle; machines: Machine[] }> {
  const nodes = world.take(contracts.length)
  const machines = nodes.map((node) => world.machine(node))
  for (const { id } of nodes) await admin.call(serverRemove, { params: { id } })
  const bundle = await generateSecrets({
    now: new Date(),
    contract: contracts[0]!,
    keys: { k8sServiceAccount: (await readyKeys()).k8sServiceAccount },
  })
  const [first, ...others] = machines as [Machine, ...Machine[]]
  const configOf = (machine: Machine): string =>
    edit(
      generateConfig({
        role: machine === first ? 'control_plane' : 'worker',
        clusterName,
        endpoint: `https://${first.plan.address}:6443`,
        talosVersion: contracts[machines.indexOf(machine)] === 'v1.14' ? talos : 'v1.13.9',
        kubernetesVersion: '1.36.3',
        secrets: bundle,
        installDisk: `/dev/${machine.hardware.disks[0]!.name}`,
        installImage: `factory.talos.dev/metal-installer/${machine.schematic}:${talos}`,
      }),
    )
  await give(first, configOf(first))
  await when(() => first.bootstrapEtcd !== null)
  const keys = await adminOf(bundle)
  await outside(first.plan.address, keys, (client) => client.bootstrap())
  await when(() => isUp(first))
  for (const machine of others) await give(machine, configOf(machine))
  await when(() => others.every(isUp))
  return { bundle, machines }
}

async function taken(name: string, bundle: SecretsBundle, [first]: readonly Machine[]) {
  const body = {
    datacenter_id: datacenterId,
    secrets: writeSecrets(bundle),
    addresses: [first!.plan.address],
    name,
  }
  const preview = await admin.call(clusterImportPreview, { body })
  if (!preview.answer) throw new Error(preview.text)
  const imported = await admin.call(clusterImport, {
    body: { ...body, seen: preview.answer.seen },
  })
  if (!imported.answer) throw new Error(imported.text)
  return { preview: preview.answer, cluster: imported.answer.cluster }
}

const serversOf = async ({ id }: Pick<Cluster, 'id'>): Promise<Server[]> =>
  (await admin.call(serverList, { query: { per_page: 1000 } })).answer!.items.filter(
    (s) => s.cluster?.id === id,
  )

async function withoutDrift(cluster: Pick<Cluster, 'id'>): Promise<void> {
  for (const { id } of await serversOf(cluster))
    expect((await admin.call(serverDrift, { params: { id } })).answer).toMatchObject({
      state: 'none',
    })
}

async function run({ id }: Pick<Cluster, 'id'>, change: ClusterChangeInput): Promise<void> {
  expect(await world.ended((await world.change(id, change)).id)).toMatchObject({
    status: 'done',
    reason: null,
  })
}

const columnsOf = ({ id }: Pick<Cluster, 'id'>) =>
  world.backend.platform.db
    .selectFrom('cluster')
    .select(['contract', 'is_moved'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()

describe('a cluster in documents', () => {
  let cluster: Cluster
  let machines: Machine[]

  test('is taken over as it is, and counts as made for Talos 1.14', async () => {
    const outsider = await made('in-documents', ['v1.14', 'v1.14'])
    machines = outsider.machines
    const applies = machines.map((m) => m.disk.state.counters.applies)
    const { preview, ...rest } = await taken('in-documents', outsider.bundle, machines)
    cluster = rest.cluster
    expect(preview).toMatchObject({
      talos_version: talos,
      kubernetes_version: '1.36.3',
      endpoint: `https://${machines[0]!.plan.address}:6443`,
      pod_cidr: '10.244.0.0/16',
      service_cidr: '10.96.0.0/12',
      servers: [
        { role: 'control_plane', problem: null },
        { role: 'worker', problem: null },
      ],
    })
    expect(preview.checks.filter((c) => !c.ok)).toEqual([])
    expect(cluster).toMatchObject({ status: 'ready', control_planes: 1, workers: 1 })
    expect(await columnsOf(cluster)).toEqual({ contract: '1.14', is_moved: false })
    await withoutDrift(cluster)
    expect(machines.map((m) => m.disk.state.counters.applies)).toEqual(applies)
  })

  test('gets a patch that is merged into its documents', async () => {
    const worker = (await serversOf(cluster)).find((s) => s.type === 'worker')!
    const body = 'apiVersion: v1alpha1\nkind: KubeNodeConfig\nlabels:\n  example.com/a: "1"\n'
    const created = await admin.call(patchCreate, {
      params: { id: worker.id },
      body: { name: 'labels', body },
    })
    expect(created.status).toBe(201)
    const before = textOf(machines[1]!)
    await when(() => textOf(machines[1]!).includes('example.com/a: "1"'))
    expect(textOf(machines[1]!).replace(/\nlabels:\n {4}example\.com\/a: "1"/, '')).toBe(before)
    await withoutDrift(cluster)
  })

  longTest('gets another endpoint, and a server that joins has its documents', async () => {
    await run(cluster, { kind: 'endpoint', endpoint: 'kube.example.com', accept_unchecked: true })
    for (const machine of machines)
      expect(textOf(machine)).toContain('endpoint: https://kube.example.com:6443')
    const [joining] = world.take(1)
    await run(cluster, { kind: 'grow', servers: [{ node_id: joining!.id, role: 'worker' }] })
    expect(inDocuments(world.machine(joining!))).toBe(true)
    await withoutDrift(cluster)
  })
})

longTest(
  'a cluster on Talos 1.14 in the form of 1.13 is taken over with that form, gets Kubernetes 1.37, and is moved to documents when a user wants it',
  async () => {
    const { bundle, machines } = await made('old-form', ['v1.13'])
    const { cluster } = await taken('old-form', bundle, machines)
    expect(await columnsOf(cluster)).toEqual({ contract: '1.13', is_moved: false })
    await run(cluster, { kind: 'upgradeKubernetes', version: '1.37.2' })
    expect(machines.map(inDocuments)).toEqual([false])
    await withoutDrift(cluster)
    await run(cluster, { kind: 'documents' })
    expect(machines.map(inDocuments)).toEqual([true])
    await withoutDrift(cluster)
  },
)

longTest(
  'a cluster half way to documents is taken over with both forms, and the move continues with the server that has the older form',
  async () => {
    const { bundle, machines } = await made('half-way', ['v1.14', 'v1.13'])
    const { cluster } = await taken('half-way', bundle, machines)
    await withoutDrift(cluster)
    const worker = (await serversOf(cluster)).find((s) => s.type === 'worker')
    const { answer } = await admin.call(clusterPlan, {
      params: { id: cluster.id },
      body: { change: { kind: 'documents' } },
    })
    expect(answer!.checks.filter((c) => !c.ok)).toEqual([])
    expect(answer!.groups.map((g) => g.node_id)).toEqual([worker!.id])
    const before = textOf(machines[0]!)
    await run(cluster, { kind: 'documents' })
    expect(textOf(machines[0]!)).toBe(before)
    expect(machines.map(inDocuments)).toEqual([true, true])
    await withoutDrift(cluster)
  },
)

/** The same kubelet, configured in the main document instead of its own document. */
function withKubeletInMain(config: string): string {
  const document = /---\napiVersion: v1alpha1\nkind: KubeletConfig\n(?:[^-].*\n)*/.exec(config)![0]
  const image = /image: (\S+)/.exec(document)![1]!
  const section = `    kubelet:\n        image: ${image}\n        defaultRuntimeSeccompProfileEnabled: true\n`
  return config.replace(document, '').replace('    features:\n', `${section}    features:\n`)
}

longTest(
  'a machine with its kubelet in the main document and the rest in documents is taken over, and a patch changes each where it stands',
  async () => {
    const { bundle, machines } = await made('both-homes', ['v1.14'], withKubeletInMain)
    const { cluster } = await taken('both-homes', bundle, machines)
    const [server] = await serversOf(cluster)
    const created = await admin.call(patchCreate, {
      params: { id: server!.id },
      body: {
        name: 'both',
        body: 'machine:\n  kubelet:\n    extraArgs:\n      v: "4"\n---\napiVersion: v1alpha1\nkind: KubeNodeConfig\nlabels:\n  example.com/b: "2"\n',
      },
    })
    expect(created.status).toBe(201)
    await when(() => /extraArgs:\s+v: "4"/.test(textOf(machines[0]!)))
    expect(textOf(machines[0]!)).toContain('example.com/b: "2"')
    expect(inDocuments(machines[0]!)).toBe(false)
    await withoutDrift(cluster)
  },
)
