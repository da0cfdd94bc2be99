import { connect } from 'node:tls'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { TalosClient } from '#talos/client/client.ts'
import { mintKubernetesClient } from '#talos/pki/certificates.ts'
import { standardKey } from '#talos/pki/keys.ts'
import { generateSecrets, type SecretsBundle } from '#talos/secrets/bundle.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import { cluster, edit, fleet, openSecure, rack, until } from './testing/fleet.ts'
import { as } from './testing/kubernetes.ts'
import { wantedBy } from './machine/kubelet/static-pods.ts'
import type { Machine } from './machine/machine.ts'

/**
 * A step of `talosctl rotate-ca` (Talos: pkg/rotate/pki): first machines accept the new authority
 * too, then the new authority issues certificates and the old one is still accepted, then only the
 * new one is accepted.
 */
interface Step {
  issues: SecretsBundle['certs']['os']
  accepts: readonly string[]
}
const steps = (old: Step['issues'], next: Step['issues']): Step[] => [
  { issues: old, accepts: [next.crt] },
  { issues: next, accepts: [old.crt] },
  { issues: next, accepts: [] },
]

/**
 * A bundle with new authorities. The bundles of `testing/fleet.ts` can't be used, because all have
 * the same keys. The service account key is reused, because generating one is slow.
 */
const otherSecrets = async (): Promise<SecretsBundle> => {
  const { k8sServiceAccount } = await readyKeys()
  return generateSecrets({
    now: new Date(),
    contract: 'v1.13',
    keys: k8sServiceAccount ? { k8sServiceAccount } : {},
  })
}

const base64 = (pem: string) => Buffer.from(pem).toString('base64')

/**
 * Applies the machine's current configuration with other authorities in its section `machine` or
 * `cluster`.
 */
async function give(
  client: TalosClient,
  machine: Machine,
  where: 'machine' | 'cluster',
  { issues, accepts }: Step,
): Promise<void> {
  const { v1alpha1, documents } = machine.config!.loaded
  const text = [v1alpha1!, ...documents.map(({ body }) => body)].map(
    (body) => structuredClone(body) as Record<string, Record<string, unknown>>,
  )
  text[0]![where]!['ca'] = { crt: base64(issues.crt), key: base64(issues.key) }
  text[0]![where]!['acceptedCAs'] = accepts.map((crt) => ({ crt: base64(crt) }))
  await client.applyConfiguration(text.map((document) => stringify(document)).join('---\n'), {
    mode: 'no-reboot',
  })
}

test("Talos's certificate authority changes in the three steps of rotate-ca, and the old authority is refused at the end", async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const other = await otherSecrets()
  const [accepted, swapped, dropped] = steps(bundle.certs.os, other.certs.os)
  const changed: SecretsBundle = { ...bundle, certs: { ...bundle.certs, os: other.certs.os } }
  await give(await openSecure(machine!, bundle), machine!, 'machine', accepted!)
  await give(await openSecure(machine!, bundle), machine!, 'machine', swapped!)
  await give(await openSecure(machine!, changed), machine!, 'machine', dropped!)
  expect((await (await openSecure(machine!, changed)).version()).tag).toBe('v1.13.9')
  await expect(
    (async () => (await openSecure(machine!, bundle)).version())(),
  ).rejects.toMatchObject({ kind: 'certificate' })
})

test('after a change of the authority, a rebooted worker gets its certificate from trustd', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const [worker] = workers
  const other = await otherSecrets()
  const changed: SecretsBundle = { ...bundle, certs: { ...bundle.certs, os: other.certs.os } }
  for (const { issues, accepts } of steps(bundle.certs.os, other.certs.os))
    for (const machine of [...controlPlanes, ...workers]) {
      // During a change a machine may present a certificate of either authority, because it gets a
      // new certificate with a delay.
      const client = await openSecure(machine, bundle).catch(() => openSecure(machine, changed))
      // The configuration of a worker doesn't contain the authority's key.
      await give(client, machine, 'machine', {
        accepts,
        issues: machine === worker ? { ...issues, key: '' } : issues,
      })
    }
  const { bootId } = worker!
  await (await openSecure(worker!, changed)).reboot()
  await until(
    'the worker answers after its reboot',
    () => worker!.bootId !== bootId && worker!.mode === 'secured',
  )
  expect((await (await openSecure(worker!, changed)).version()).tag).toBe('v1.13.9')
})

/** Every change of the secrets restarts the static pods, whose annotation then has their version. */
const runsItsSecrets = (machine: Machine): Promise<unknown> =>
  until('the API server runs with its secrets', () => {
    const pod = machine.staticPods.get('kube-apiserver')
    const { version } = wantedBy(machine, 'kube-apiserver').secrets
    return pod?.ready === true && pod.runs.secrets.version === version
  })

test("during a change of Kubernetes' authority the kubelet restarts, and the old and the new authority are accepted", async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const other = await otherSecrets()
  const changed: SecretsBundle = { ...bundle, certs: { ...bundle.certs, k8s: other.certs.k8s } }
  const status = async (by: SecretsBundle): Promise<string> => {
    const { crt, key } = await mintKubernetesClient(by, {
      commonName: 'a',
      organizations: ['system:masters'],
      lifetimeMs: 3_600_000,
      now: new Date(),
    })
    const socket = connect({
      host: machine!.plan.address,
      port: 6443,
      cert: crt,
      key: standardKey(key),
      rejectUnauthorized: false,
    })
    socket.write('GET /api/v1/nodes HTTP/1.1\r\nHost: k\r\nConnection: close\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    return answer.toString('utf8', 0, 12)
  }
  const [accepted, swapped, dropped] = steps(bundle.certs.k8s, other.certs.k8s)
  let restarts = 0
  for (const [step, old, next] of [
    [accepted!, '200', '200'],
    [swapped!, '200', '200'],
    [dropped!, '401', '200'],
  ] as const) {
    await give(await openSecure(machine!, bundle), machine!, 'cluster', step)
    await until('the kubelet runs again', () => machine!.services.isUp('kubelet'))
    await runsItsSecrets(machine!)
    expect(
      machine!.services.get('kubelet')!.events.filter(({ state }) => state === 'Stopping'),
    ).toHaveLength(++restarts)
    expect([await status(bundle), await status(changed)]).toEqual([
      `HTTP/1.1 ${old}`,
      `HTTP/1.1 ${next}`,
    ])
  }
})

test('a worker that does not accept the new Kubernetes authority loses access, and gets it back with a certificate of that authority', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const [machine] = controlPlanes
  const [worker] = workers
  const other = await otherSecrets()
  const [accepted, swapped, dropped] = steps(bundle.certs.k8s, other.certs.k8s)
  expect(worker!.disk.state.kubelet!.ca.trim()).toBe(bundle.certs.k8s.crt.trim())
  await give(await openSecure(machine!, bundle), machine!, 'cluster', accepted!)
  await until('the control plane is ready', () => machine!.stage.ready)
  expect(worker!.nodeReady).toBe(true)
  await give(await openSecure(machine!, bundle), machine!, 'cluster', swapped!)
  await until('the worker is locked out', () => !worker!.nodeReady)
  const withoutKey = (step: Step): Step => ({ ...step, issues: { ...step.issues, key: '' } })
  await give(await openSecure(worker!, bundle), worker!, 'cluster', withoutKey(accepted!))
  await until('the worker is back with its old certificate', () => worker!.nodeReady)
  await give(await openSecure(worker!, bundle), worker!, 'cluster', withoutKey(dropped!))
  await until(
    'the worker has a new certificate',
    () => worker!.nodeReady && worker!.disk.state.kubelet!.ca.trim() === other.certs.k8s.crt.trim(),
  )
  await give(await openSecure(machine!, bundle), machine!, 'cluster', dropped!)
  await until('all are ready', () => machine!.stage.ready && worker!.stage.ready)
})

test('an API server without the key of a Secret cannot read it, and reads it with the key', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const ask = await as(bundle, machine!.plan.address)
  const secrets = '/api/v1/namespaces/default/secrets'
  await ask('POST', secrets, { metadata: { name: 'a' }, stringData: { b: 'c' } })
  const key = bundle.secrets.secretboxEncryptionSecret!
  await edit(machine!, bundle, key, Buffer.alloc(32, 7).toString('base64'))
  await runsItsSecrets(machine!)
  expect(await ask('GET', `${secrets}/a`)).toMatchObject({
    status: 500,
    body: {
      message:
        'Internal error occurred: unable to transform key "/registry/secrets/default/a": output array was not large enough for encryption',
    },
  })
  expect((await ask('GET', secrets)).status).toBe(500)
  await edit(machine!, bundle, Buffer.alloc(32, 7).toString('base64'), key)
  await runsItsSecrets(machine!)
  expect((await ask('GET', `${secrets}/a`)).status).toBe(200)
})
