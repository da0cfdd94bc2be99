/** Surveys a cluster made with other tools by querying its machines. Changes nothing. */
import { createHash } from 'node:crypto'
import { endpointHost } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { noUuid } from '#contract/servers/identity.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readIdentity } from '#talos/client/inventory.ts'
import { ConfigError } from '#talos/config/problem.ts'
import { type Credentials, mintKubernetesClient } from '#talos/pki/certificates.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { readEverything } from '../../../talos-fleet/reading.ts'
import { readFound } from '#talos/client/found.ts'
import { sentBy } from '../../../reading/asker.ts'
import { kubernetes } from '../../../kubernetes/client.ts'
import { KubernetesError, type KubernetesNode } from '../../../kubernetes/answers.ts'
import { type Existing, markOf, readExisting } from '../existing.ts'
import type { ClusterParts } from '../parts.ts'
import { differences, type Proof } from './proof.ts'
import { invalid } from './proof-files.ts'
import { timeLimit } from '../../../time-limit.ts'

type Told = Awaited<ReturnType<typeof tell>>

export interface SurveyedMachine {
  /** Node name in Kubernetes. */
  readonly name: string
  readonly address: string | null
  readonly told: Told | null
  /** Whether Kubernetes reports the node Ready; if not, why. */
  readonly node: Pick<KubernetesNode, 'ready' | 'reason'>
  /** Why the machine reported nothing. */
  readonly problem: string | null
}

export type Survey = Awaited<ReturnType<typeof survey>>

/** What the first control plane that answers says, and its address. */
interface FirstAnswer {
  readonly address: string
  readonly told: Told
}

type SurveyParts = Pick<ClusterParts, 'servers' | 'dial' | 'clock' | 'read'>

const apidPort = 50_000
const deadlineMs = 8_000
const wholeMs = 60_000
const atOnce = 8
const ownLifetimeMs = 3_600_000

/**
 * Runs one or more calls over a machine's API with the cluster's own credentials.
 * @throws Problem `invalid` if the machine belongs to another cluster, `server_unreachable` if it
 * doesn't answer
 */
export async function askAt<T>(
  { servers }: Pick<SurveyParts, 'servers'>,
  address: string,
  proof: Pick<Proof, 'bundle' | 'credentials'>,
  act: (client: TalosClient) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const connection = servers.connectionAt(address)
  const field = proof.bundle === null ? 'talosconfig' : 'secrets'
  const whose = proof.bundle === null ? 'this talosconfig' : 'these secrets'
  try {
    return await connection.secure(proof.credentials, act, { signal, deadlineMs, lane: 'act' })
  } catch (error) {
    if (!(error instanceof TalosError)) throw error
    if (error.kind === 'certificate') {
      const isFree =
        (await connection.presence({ signal, deadlineMs }).catch(() => null)) === 'maintenance'
      if (isFree)
        throw invalid(
          'addresses',
          `The machine at ${address} is in maintenance mode, so it is in no cluster`,
        )
      const belongs =
        proof.bundle === null
          ? 'The talosconfig belongs to another cluster, or is'
          : 'The secrets belong to another cluster, or are'
      throw invalid(
        field,
        `${belongs} older than a change of the cluster's CA: the given CA did not sign the certificate of the machine at ${address}`,
      )
    }
    if (error.kind === 'refused')
      throw invalid(
        field,
        `The machine at ${address} does not accept the certificate of ${whose}: the machine belongs to another cluster, or the cluster's CA was changed`,
      )
    if (error.kind === 'permission_denied')
      throw invalid(
        field,
        `The machine at ${address} does not show its configuration to ${whose}: the role os:admin is needed`,
      )
    throw new Problem('server_unreachable', `The machine at ${address}: ${error.message}`)
  }
}

/**
 * Everything that a takeover needs to know of the machine at an address. @throws Problem as
 * `askAt`, and if its configuration can't be read
 */
async function tell(
  parts: Pick<SurveyParts, 'servers' | 'read'>,
  address: string,
  proof: Proof,
  signal: AbortSignal,
) {
  const [identity, reading, config] = await askAt(
    parts,
    address,
    proof,
    (client) =>
      Promise.all([
        readIdentity(client, { without: noUuid }),
        readEverything(client),
        readFound(client),
      ]),
    signal,
  )
  const told = await parts.read(sentBy(address), 'told', config.stored).catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error
    throw invalid(
      'addresses',
      `The configuration of the machine at ${address} can't be read: ${error.problems[0]?.message ?? 'it is not YAML'}`,
    )
  })
  return { identity, reading, config, ...told }
}

/** Checks that a bundle belongs to the cluster. @throws Problem `invalid` */
export async function demandSameCluster(
  { read }: Pick<SurveyParts, 'read'>,
  proof: Proof,
  told: Told,
  address: string,
): Promise<SecretsBundle> {
  const field = proof.bundle === null ? 'talosconfig' : 'secrets'
  if (told.role === 'worker')
    throw invalid(
      'addresses',
      `The machine at ${address} is a worker: give the address of a control plane`,
    )
  if (told.encryptionProblem !== null)
    throw invalid(
      'addresses',
      `The machine at ${address} encrypts objects in etcd in a way that Steelyard can't give to other control planes, so they couldn't read them: ${told.encryptionProblem} (KubeEtcdEncryptionConfig)`,
    )
  const own = await read(sentBy(address), 'bundle', told.config.stored, `the machine at ${address}`)
  if (proof.bundle !== null) {
    const other = differences(proof.bundle, own)
    if (proof.bundle.cluster.id !== own.cluster.id)
      throw invalid(
        field,
        `The secrets belong to another cluster than the machine at ${address}: the cluster ids differ`,
      )
    if (other.length > 0)
      throw invalid(
        field,
        `The secrets are not those of the machine at ${address}: ${other.join(', ')} ${other.length === 1 ? 'differs' : 'differ'}. They may be older than a change of keys`,
      )
  }
  const pem = (text: string) => text.replaceAll(/\s+/g, '')
  if (proof.kubernetesCa !== null && !pem(proof.kubernetesCa).includes(pem(own.certs.k8s.crt)))
    throw invalid(
      'kubeconfig',
      'The kubeconfig belongs to another cluster: the certificate authorities differ',
    )
  return own
}

/** The first address that answers. @throws Problem */
export async function firstAnswer(
  parts: Pick<SurveyParts, 'servers' | 'read'>,
  addresses: readonly string[],
  proof: Proof,
  signal: AbortSignal,
): Promise<FirstAnswer> {
  let last: Problem | undefined
  for (const address of addresses) {
    try {
      return { address, told: await tell(parts, address, proof, signal) }
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'server_unreachable') throw error
      last = error
    }
  }
  throw last ?? invalid('addresses', 'Give the address of a control plane')
}

/**
 * Reads the machines that are nodes of the cluster's Kubernetes, and the objects there that
 * Steelyard would otherwise write.
 */
async function membersOf(
  parts: SurveyParts,
  credentials: Credentials,
  proof: Proof,
  first: FirstAnswer,
  signal: AbortSignal,
): Promise<{ machines: SurveyedMachine[]; existing: Existing }> {
  const api = kubernetes([{ name: first.address, address: first.address }], credentials, parts)
  const [nodes, existing] = await Promise.all([api.nodes(signal), readExisting(api, signal)]).catch(
    (error: unknown) => {
      if (error instanceof KubernetesError)
        throw new Problem(
          'server_unreachable',
          `The Kubernetes API of the cluster does not answer: ${error.message}`,
        )
      throw error
    },
  )
  const machines: SurveyedMachine[] = []
  const waiting = [...nodes]
  const lookAt = async (node: (typeof nodes)[number]): Promise<SurveyedMachine> => {
    const { name } = node
    if (node.addresses.includes(first.address))
      return { name, node, address: first.address, told: first.told, problem: null }
    const [address] = node.addresses
    if (address === undefined)
      return {
        name,
        node,
        address: null,
        told: null,
        problem: 'Kubernetes has no address of this node',
      }
    try {
      return { name, node, address, told: await tell(parts, address, proof, signal), problem: null }
    } catch (error) {
      if (error instanceof Problem)
        return { name, node, address, told: null, problem: error.message }
      throw error
    }
  }
  const one = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) machines.push(await lookAt(next))
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  const rank = (m: SurveyedMachine) => (m.told?.role === 'worker' ? 1 : 0)
  return {
    machines: machines.toSorted(
      (a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, 'en', { numeric: true }),
    ),
    existing,
  }
}

/** @throws Problem */
export async function survey(parts: SurveyParts, proof: Proof, asked: readonly string[]) {
  const signal = timeLimit(wholeMs)
  const addresses = asked.length > 0 ? asked : proof.endpoints
  if (addresses.length === 0)
    throw invalid(
      'addresses',
      'Give the address of a control plane: the secrets do not contain the address of the cluster',
    )
  const refused = addresses.flatMap((address) => {
    const verdict = parts.dial.check(address, apidPort)
    return verdict.ok ? [] : [{ address, reason: verdict.reason }]
  })
  // Endpoints of a talosconfig may be names or load balancer addresses. One address that may be
  // dialled is enough.
  if (refused.length > 0 && (asked.length > 0 || refused.length === addresses.length)) {
    const sentence =
      asked.length > 0
        ? refused[0]!.reason
        : `${refused[0]!.reason}. Give the address of a control plane`
    throw new Problem('dial_refused', sentence, { addresses: sentence })
  }
  const dialled = addresses.filter((address) => !refused.some((r) => r.address === address))
  const first = await firstAnswer(parts, dialled, proof, signal)
  const bundle = await demandSameCluster(parts, proof, first.told, first.address)
  const now = new Date(parts.clock.now())
  const admin = await mintKubernetesClient(bundle, {
    commonName: 'steelyard',
    organizations: ['system:masters'],
    lifetimeMs: ownLifetimeMs,
    now,
  })
  const { machines, existing } = await membersOf(parts, admin, proof, first, signal)
  if (!machines.some((m) => m.told?.identity.uuid === first.told.identity.uuid))
    throw invalid(
      'addresses',
      `Kubernetes has no node at ${first.address}: the machine there is no member of the cluster yet`,
    )
  const { endpoint, clusterName, virtualAddresses, podCidr, serviceCidr } = first.told
  const what = machines.map((m) => [
    m.name,
    m.address,
    m.told?.identity.uuid,
    m.told?.identity.serial,
    m.told?.role,
  ])
  const objects = [existing.key, existing.binding].map(
    (object) => object !== null && markOf(object),
  )
  return {
    bundle,
    clusterName,
    endpoint,
    virtualIp: virtualAddresses.includes(endpointHost(endpoint)),
    podCidr,
    serviceCidr,
    machines,
    existing,
    seen: createHash('sha256')
      .update(JSON.stringify([bundle.cluster.id, endpoint, what, objects]))
      .digest('hex'),
  }
}
