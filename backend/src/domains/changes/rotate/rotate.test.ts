/** Rotations on simulated servers, which verify certificates as Talos and Kubernetes do. */
import { describe, expect, test } from 'vitest'
import { clusterCertificates } from '#contract/clusters/certificates.ts'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import type { RotatedSecret } from '#contract/clusters/changes/rotate.ts'
import { clusterEvents, clusterTalosconfig } from '#contract/clusters/clusters.ts'
import { hasEnded, operationCancel } from '#contract/operations.ts'
import { overviewGet } from '#contract/overview.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import { readTalosconfig } from '#talos/access/access.ts'
import { connectSecure } from '#talos/client/connect.ts'
import { type Credentials, mintKubernetesClient, mintTalosClient } from '#talos/pki/certificates.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { inTransaction } from '../../../db/db.ts'
import { kubernetes } from '../../../kubernetes/client.ts'
import { sharedReader } from '../../../testing/reader.ts'
import { sweepQueue } from '../../configurations/api.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { certificateQueue, changeQueue } from '../../clusters/parts.ts'
import { effectsOf } from '../../clusters/testing/effects.ts'
import { type Escrowed, escrowedOf } from '../../clusters/testing/escrowed.ts'
import { listedFindings } from '../../../testing/overview.ts'

const world = await clusterWorld({ servers: longTests ? 25 : 12 })
const { admin, backend } = world
const hourMs = 3_600_000
const escrowed = escrowedOf(backend)

const talosAdmin = (bundle: SecretsBundle) =>
  mintTalosClient(bundle, { roles: ['os:admin'], lifetimeMs: hourMs, now: new Date() })
const addressOf = (node: Server): string => world.machine(node).plan.address

/** `ok`, or the kind of the refusal. */
async function talosAnswers(node: Server, credentials: Credentials): Promise<string> {
  try {
    const client = await connectSecure({ host: addressOf(node) }, credentials)
    try {
      await client.version()
      return 'ok'
    } finally {
      client.close()
    }
  } catch (error) {
    return (error as { kind?: string }).kind ?? String(error)
  }
}

async function kubernetesAnswers(
  node: Server,
  bundle: SecretsBundle,
  ca = bundle.certs.k8s.crt,
): Promise<string> {
  const who = {
    commonName: 'somebody',
    organizations: ['system:masters'],
    lifetimeMs: hourMs,
    now: new Date(),
  }
  const credentials = { ...(await mintKubernetesClient(bundle, who)), ca }
  return kubernetes([{ name: node.name, address: addressOf(node) }], credentials, {
    dial: { check: () => ({ ok: true }) },
    read: sharedReader,
  })
    .nodes(AbortSignal.timeout(5_000))
    .then(
      () => 'ok',
      (error: { status?: number }) => `refused ${error.status ?? ''}`.trim(),
    )
}

async function ready(count: number) {
  const nodes = world.take(count)
  const { cluster, operation } = await world.create(nodes)
  expect((await world.ended(operation.id)).status).toBe('done')
  return { nodes, id: cluster.id, controlPlanes: nodes.slice(0, count < 4 ? 1 : 3) }
}

const rotate = (id: string, what: RotatedSecret) => world.change(id, { kind: 'rotate', what })

async function expectNoDrift(nodes: readonly Server[]) {
  for (const node of nodes)
    expect((await admin.call(serverDrift, { params: { id: node.id } })).answer).toMatchObject({
      state: 'none',
    })
}

/** The escrow file is written again right after the end. */
const settled = (id: string, is: (now: Escrowed) => boolean) => world.until(() => escrowed(id), is)

const { holdAt, watch } = effectsOf(world)

const shared = ready(2)

describe.concurrent('what can be rotated', () => {
  test(
    'a cluster gets a new Talos authority: every server answers all the time, and the old certificates are refused at the end',
    { timeout: 600_000 },
    async () => {
      const { nodes, id } = await ready(longTests ? 5 : 2)
      const before = readTalosconfig(
        (await admin.call(clusterTalosconfig, { params: { id } })).answer!,
      )
      const old = await escrowed(id)
      const plan = (
        await admin.call(clusterPlan, {
          params: { id },
          body: { change: { kind: 'rotate', what: 'talos_ca' } },
        })
      ).answer!
      expect(plan.checks.filter((c) => !c.ok)).toEqual([])
      expect(plan.warnings[0]).toMatch(/^Talosconfigs that were downloaded before stop working/)
      expect(plan.groups.map((g) => g.steps[0]!.key.split('/')[0])).toEqual([
        'new-secrets',
        ...nodes.map(() => 'accept'),
        'accepted',
        ...nodes.map(() => 'switch'),
        'switched',
        ...nodes.map(() => 'drop'),
        'dropped',
      ])
      const { id: operation } = await rotate(id, 'talos_ca')
      expect(await world.ended(operation)).toMatchObject({ status: 'done', reason: null })
      for (const node of nodes)
        expect(await talosAnswers(node, { ...before, ca: old.bundle.certs.os.crt })).toBe(
          'certificate',
        )
      const now = await settled(id, (e) => e.rotation === null && e.former.length === 1)
      expect(now.former[0]).toEqual(old.bundle)
      expect(now.bundle.certs.os.crt).not.toBe(old.bundle.certs.os.crt)
      expect({ ...now.bundle, certs: { ...now.bundle.certs, os: old.bundle.certs.os } }).toEqual(
        old.bundle,
      )
      // The old certificate is also refused by a client that trusts the new authority.
      for (const node of nodes)
        expect(await talosAnswers(node, { ...before, ca: now.bundle.certs.os.crt })).toBe('refused')
      const after = readTalosconfig(
        (await admin.call(clusterTalosconfig, { params: { id } })).answer!,
      )
      expect(after.ca).toBe(now.bundle.certs.os.crt)
      for (const node of nodes) expect(await talosAnswers(node, after)).toBe('ok')
      await expectNoDrift(nodes)
      for (const node of nodes)
        expect(await world.server(node.id)).toMatchObject({
          operation_id: null,
          talos: { reachable: true },
        })
      await backend.publish()
      const events = (await admin.call(clusterEvents, { params: { id } })).answer!.items.map(
        (e) => e.type,
      )
      expect(events).toEqual(
        expect.arrayContaining(['cluster.rotate_requested', 'cluster.secrets_rotated']),
      )
    },
  )

  longTest(
    'a cluster gets a new Kubernetes authority, and its nodes stay Ready',
    { timeout: 600_000 },
    async () => {
      const { nodes, id, controlPlanes } = await ready(longTests ? 5 : 2)
      const old = await escrowed(id)
      const { id: operation } = await rotate(id, 'kubernetes_ca')
      expect(await world.ended(operation)).toMatchObject({ status: 'done', reason: null })
      // A kubelet restarts with each form, mostly too fast to be missed; no other one is refused
      // meanwhile.
      expect(world.machine(nodes[0]!).etcdCluster!.counters.mostUnready).toBeLessThanOrEqual(1)
      const now = await settled(id, (e) => e.former.length === 1)
      expect(now.bundle.certs.k8s.crt).not.toBe(old.bundle.certs.k8s.crt)
      for (const node of controlPlanes) {
        expect(await kubernetesAnswers(node, old.bundle)).toBe('refused')
        expect(await kubernetesAnswers(node, old.bundle, now.bundle.certs.k8s.crt)).toBe(
          'refused 401',
        )
        expect(await kubernetesAnswers(node, now.bundle)).toBe('ok')
      }
      await expectNoDrift(nodes)
      await world.until(
        () => world.judged(id),
        (c) => c.status === 'ready',
      )
    },
  )

  longTest('a cluster gets new tokens', { timeout: 600_000 }, async () => {
    const { nodes, id } = await ready(2)
    const old = await escrowed(id)
    const boots = new Set(nodes.map((n) => world.machine(n).bootId))
    expect(await world.ended((await rotate(id, 'tokens')).id)).toMatchObject({
      status: 'done',
      reason: null,
    })
    const tokens = await settled(id, (e) => e.former.length === 1)
    expect(tokens.bundle.trustdInfo.token).not.toBe(old.bundle.trustdInfo.token)
    expect(tokens.bundle.secrets.bootstrapToken).not.toBe(old.bundle.secrets.bootstrapToken)
    // Each server restarted once, and the worker got its certificate from trustd by the new one.
    expect(nodes.map((n) => world.machine(n).bootId).filter((bootId) => boots.has(bootId))).toEqual(
      [],
    )
    for (const node of nodes)
      expect(await talosAnswers(node, await talosAdmin(tokens.bundle))).toBe('ok')
    await expectNoDrift(nodes)
  })

  longTest('a cluster gets a new authority of aggregated APIs', { timeout: 600_000 }, async () => {
    const { nodes, id } = await ready(2)
    const old = await escrowed(id)
    expect(await world.ended((await rotate(id, 'aggregator_ca')).id)).toMatchObject({
      status: 'done',
    })
    const now = await settled(id, (e) => e.former.length === 1)
    expect(now.bundle.certs.k8sAggregator.crt).not.toBe(old.bundle.certs.k8sAggregator.crt)
    await expectNoDrift(nodes)
  })

  test.each([
    ['service_account', /every pod would lose its access/],
    ['encryption_keys', /no other key can take over/],
    ['etcd_ca', /would lose its quorum/],
  ] as const)('%s is refused with the reason', { timeout: 600_000 }, async (what, reason) => {
    const { id } = await shared
    const called = await admin.call(clusterChange, {
      params: { id },
      body: { change: { kind: 'rotate', what } },
    })
    expect(called.problem).toMatchObject({
      code: 'transition_refused',
      error: expect.stringMatching(reason) as string,
    })
  })

  test(
    'the certificates of a cluster are listed with their expiry',
    { timeout: 600_000 },
    async () => {
      const { id, nodes } = await shared
      const { items } = (await admin.call(clusterCertificates, { params: { id } })).answer!
      const years = (kind: string) =>
        Math.round(
          (Date.parse(items.find((c) => c.kind === kind)!.ends_at!) - Date.now()) /
            (365 * 24 * hourMs),
        )
      expect([
        years('talos_ca'),
        years('kubernetes_ca'),
        years('etcd_ca'),
        years('aggregator_ca'),
      ]).toEqual([10, 10, 10, 10])
      for (const node of nodes)
        expect(items).toContainEqual(
          expect.objectContaining({
            kind: 'talos_api',
            name: node.name,
            renewed_by: 'talos',
            ending: false,
            reason: null,
          }),
        )
      expect(items.filter((c) => c.ending || c.ends_at === null)).toEqual([])
      expect(years('kubernetes_api')).toBe(1)
    },
  )
})

describe('failures during a rotation', () => {
  test(
    'a rotation is refused while a server has not got its newest configuration, until the sweep has found what an ended operation has left unsent',
    { timeout: 600_000 },
    async () => {
      const { id, nodes } = await shared
      const [, worker] = nodes as [Server, Server]
      const { kept } = backend.domains.configurations
      const { db, engine } = backend.platform
      const body = { change: { kind: 'rotate' as const, what: 'kubernetes_ca' as const } }
      const failing = async () =>
        (await admin.call(clusterPlan, { params: { id }, body })).answer!.checks.filter(
          (c) => !c.ok,
        )
      const { newest } = (await kept.all(db, id, worker.id))!
      // No sweep meanwhile.
      const refused = await world.alone(async () => {
        await inTransaction(db, (tx) =>
          kept.store(
            tx,
            id,
            worker.id,
            newest.yaml.replace('machine:', 'machine:\n    sysctls:\n        vm.swappiness: "3"'),
          ),
        )
        return failing()
      })
      expect(refused).toEqual([
        expect.objectContaining({
          check: 'configuration',
          message: `${worker.name} has not received its newest configuration yet. If it does not get it within a few minutes, save one of its patches again`,
        }),
      ])
      const { applies } = world.machine(worker).disk.state.counters
      await inTransaction(db, (tx) => engine.wake(tx, sweepQueue, id))
      await world.until(failing, (checks) => checks.length === 0)
      expect(world.machine(worker).disk.state.counters.applies).toBe(applies)
    },
  )

  test(
    'a rotation is refused before anything changes if a server is off',
    { timeout: 600_000 },
    async () => {
      const { id, nodes } = await shared
      const off = world.machine(nodes[1]!)
      await off.lifecycle.powerOff()
      const called = await admin.call(clusterChange, {
        params: { id },
        body: { change: { kind: 'rotate', what: 'talos_ca' } },
      })
      expect(called.problem).toMatchObject({
        code: 'transition_refused',
        error: expect.stringContaining(`${nodes[1]!.name}: `) as string,
      })
      expect((await escrowed(id)).rotation).toBeNull()
      off.lifecycle.powerOn()
      await world.until(
        async () => (await admin.call(serverGet, { params: { id: nodes[1]!.id } })).answer!,
        (s) => s.talos.reachable === true && s.kubernetes?.ready === true,
      )
    },
  )

  test(
    'a rotation continues after a crash before or after any effect, and the escrow file can be opened at each crash',
    { timeout: 600_000 },
    async () => {
      const { id, nodes } = await ready(2)
      const cuts = new Map<string, Promise<Escrowed>>()
      watch((name, when) => {
        const place = `${name.split('/', 1)[0]!}:${when}`
        if (!name.startsWith('rotate-') || cuts.has(place)) return
        cuts.set(place, escrowed(id))
        throw new Error(`Cut at ${place}`)
      })
      const { id: operation } = await rotate(id, 'talos_ca')
      // The delay after failures is skipped.
      const again = () =>
        inTransaction(backend.platform.db, (tx) =>
          backend.platform.engine.wake(tx, changeQueue, id),
        )
      const ended = await world.until(
        () => again().then(() => world.operation(operation)),
        hasEnded,
      )
      expect(ended).toMatchObject({ status: 'done', reason: null })
      watch()
      expect([...cuts.keys()]).toEqual(
        ['escrow', 'accept', 'switch', 'drop'].flatMap((name) => [
          `rotate-${name}:before`,
          `rotate-${name}:after`,
        ]),
      )
      const seen = await Promise.all(cuts.values())
      // The file contains both from the first use of the new secrets on.
      expect(seen.map((e) => e.rotation !== null)).toEqual([
        false,
        true,
        true,
        true,
        true,
        true,
        true,
        true,
      ])
      const now = await settled(id, (e) => e.former.length === 1)
      expect(now.bundle).toEqual(seen.at(-1)!.rotation)
      for (const node of nodes)
        expect(await talosAnswers(node, await talosAdmin(now.bundle))).toBe('ok')
      await expectNoDrift(nodes)
    },
  )

  longTest(
    'the rotation waits for a server that goes off, and names it',
    { timeout: 600_000 },
    async () => {
      const { id, nodes } = await ready(2)
      const off = world.machine(nodes[1]!)
      let isOff = false
      watch((name, when) => {
        if (isOff || name !== `rotate-switch/${nodes[0]!.id}` || when !== 'after') return
        isOff = true
        void off.lifecycle.powerOff()
      })
      const { id: operation } = await rotate(id, 'talos_ca')
      const waits = await world.until(
        () => world.operation(operation),
        // The control plane before it may be waited for as well.
        (o) => o.steps.some((s) => s.status === 'waiting' && s.node_id === nodes[1]!.id),
      )
      expect(waits.steps.find((s) => s.status === 'waiting')).toMatchObject({
        key: `switch/${nodes[1]!.id}`,
        reason: expect.stringContaining(nodes[1]!.name) as string,
      })
      watch()
      off.lifecycle.powerOn()
      expect(await world.ended(operation)).toMatchObject({ status: 'done' })
      await expectNoDrift(nodes)
    },
  )

  longTest(
    'a cancel has no effect once a server refuses the old authority',
    { timeout: 600_000 },
    async () => {
      const { id, nodes } = await ready(1)
      const held = holdAt(`rotate-drop/${nodes[0]!.id}`, 'after')
      const { id: operation } = await rotate(id, 'talos_ca')
      await held.reached()
      expect((await admin.call(operationCancel, { params: { id: operation } })).status).toBe(200)
      held.release()
      expect(await world.ended(operation)).toMatchObject({ status: 'done' })
      const now = await settled(id, (e) => e.former.length === 1)
      expect(await talosAnswers(nodes[0]!, await talosAdmin(now.bundle))).toBe('ok')
    },
  )

  test(
    'the overview lists certificates that expire soon, until a later reading finds them renewed',
    { timeout: 600_000 },
    async () => {
      const { id } = await shared
      const { db, engine } = backend.platform
      const ending = [
        {
          kind: 'kubernetes_ca',
          name: null,
          ends_at: '2027-01-02T00:00:00.000Z',
          reason: 'Rotate it',
        },
      ]
      await db
        .updateTable('cluster')
        .set({ certificates_ending: JSON.stringify(ending) })
        .where('id', '=', id)
        .execute()
      const attention = async () => {
        await backend.domains.findings.judge()
        return listedFindings((await admin.call(overviewGet)).answer).filter(
          (one) => one.kind === 'cluster_certificate_ending',
        )
      }
      const reason =
        'Certificates expire on 2027-01-02: Authority of the Kubernetes API. Rotate it.'
      expect(await attention()).toMatchObject([{ object: { id }, reason }])
      await inTransaction(db, (tx) => engine.wake(tx, certificateQueue, id))
      await world.until(attention, (items) => items.length === 0)
    },
  )

  longTest.each(['talos_ca', 'kubernetes_ca'] as const)(
    'a cancelled rotation of %s is taken back, and the old certificates still work',
    { timeout: 600_000 },
    async (what) => {
      const { id, nodes } = await ready(2)
      const old = await escrowed(id)
      const held = holdAt(`rotate-switch/${nodes[1]!.id}`, 'before')
      const { id: operation } = await rotate(id, what)
      await held.reached()
      expect((await admin.call(operationCancel, { params: { id: operation } })).status).toBe(200)
      held.release()
      const ended = await world.ended(operation)
      expect(ended).toMatchObject({ status: 'cancelled' })
      expect(ended.steps.at(-1)).toMatchObject({ key: 'withdrawn', status: 'done' })
      const now = await settled(id, (e) => e.rotation === null)
      expect(now).toEqual(old)
      for (const node of nodes)
        expect(await talosAnswers(node, await talosAdmin(old.bundle))).toBe('ok')
      expect(await kubernetesAnswers(nodes[0]!, old.bundle)).toBe('ok')
      await expectNoDrift(nodes)
    },
  )
})
