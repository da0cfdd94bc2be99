/**
 * Connects with certificates of the old and the new authority to verify what a server accepts and
 * presents, as Talos's own rotation does (Talos `pkg/rotate/pki`).
 */
import { TalosError } from '#talos/client/errors.ts'
import { type Credentials, mintKubernetesClient, mintTalosClient } from '#talos/pki/certificates.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { bothOf } from '#talos/secrets/rotation.ts'
import { kubernetes } from '../../../kubernetes/client.ts'
import { isRecord, KubernetesError } from '../../../kubernetes/answers.ts'
import { factsOf, kubernetesOf } from '../../control-planes/api.ts'
import type { MemberRow, OpenRotation, ServerStep } from '../../clusters/api.ts'
import { type ChangeTurn, talos } from '../frame.ts'

const lifetimeMs = 10 * 60_000
const callDeadlineMs = 10_000

interface Proof {
  /** The authority of Steelyard's certificate, and the authorities that Steelyard trusts. */
  readonly client: SecretsBundle
  readonly trusts: 'both' | SecretsBundle
  /** True: the server must refuse the certificate. */
  readonly isRefused?: boolean
}

/** The connections that prove that a step has taken effect. */
function proofsOf({ from, to }: OpenRotation, step: ServerStep): Proof[] {
  if (step === 'accept') return [{ client: to, trusts: 'both' }]
  if (step === 'switch') return [{ client: to, trusts: to }]
  if (step === 'switch-back') return [{ client: from, trusts: from }]
  const [kept, gone] = step === 'drop' ? [to, from] : [from, to]
  return [
    { client: kept, trusts: kept },
    { client: gone, trusts: kept, isRefused: true },
  ]
}

/** Why the step has not taken effect on the server yet, or null. */
export async function lackOf(
  turn: ChangeTurn,
  rotation: OpenRotation,
  m: MemberRow,
  step: ServerStep,
): Promise<string | null> {
  if (rotation.what === 'talos_ca') return byTalos(turn, rotation, m, step)
  const lack = m.role === 'control_plane' ? await byKubernetes(turn, rotation, m, step) : null
  return lack ?? nodeLack(turn, m)
}

async function byTalos(
  turn: ChangeTurn,
  rotation: OpenRotation,
  m: MemberRow,
  step: ServerStep,
): Promise<string | null> {
  const connection = await turn.parts.servers.connection(m.node_id)
  const answers = async ({ client, trusts }: Proof): Promise<TalosError | null> => {
    const made = await mintTalosClient(client, {
      roles: ['os:admin'],
      lifetimeMs,
      now: new Date(turn.job.now()),
    })
    const credentials: Credentials = {
      ...made,
      ca: trusts === 'both' ? bothOf(rotation, 'talos') : trusts.certs.os.crt,
    }
    try {
      await connection.secure(credentials, (talosClient) => talosClient.version(), {
        signal: turn.job.signal,
        deadlineMs: callDeadlineMs,
      })
      return null
    } catch (error) {
      if (!(error instanceof TalosError)) throw error
      return error
    }
  }
  const [accepted, refused] = proofsOf(rotation, step)
  const silent = (error: TalosError) =>
    `${m.name} does not answer with the secrets of this step yet: ${error.message}`
  const failure = await answers(accepted!)
  if (failure !== null) return silent(failure)
  if (refused === undefined) return null
  const refusal = await answers(refused)
  if (refusal === null)
    return `${m.name} still accepts certificates of the ${refused.client === rotation.from ? 'old' : 'new'} authority`
  if (refusal.kind === 'refused') return null
  // In TLS 1.3 the server refuses a certificate after the client's handshake (RFC 8446, 4.4.2.4),
  // and the alert may be lost with the connection. If the server still answers the accepted
  // certificate, the loss was the refusal.
  const again = refusal.kind === 'unavailable' ? await answers(accepted!) : refusal
  return again === null ? null : silent(again)
}

async function byKubernetes(
  turn: ChangeTurn,
  rotation: OpenRotation,
  m: MemberRow,
  step: ServerStep,
): Promise<string | null> {
  const { parts, job } = turn
  const [facts] = await factsOf(parts, parts.db, [m])
  const target = { name: m.name, address: facts!.address }
  const proofs =
    rotation.what === 'kubernetes_ca'
      ? proofsOf(rotation, step)
      : [{ client: rotation.from, trusts: 'both' as const, isRefused: false }]
  for (const { client, trusts, isRefused } of proofs) {
    const who = {
      commonName: 'steelyard',
      organizations: ['system:masters'],
      lifetimeMs,
      now: new Date(job.now()),
    }
    const credentials: Credentials = {
      ...(await mintKubernetesClient(client, who)),
      ca: trusts === 'both' ? bothOf(rotation, 'kubernetes') : trusts.certs.k8s.crt,
    }
    const api = kubernetes([target], credentials, parts)
    try {
      await api.readyz(target, job.signal)
      await api.nodes(job.signal)
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error
      if (isRefused === true && error.status === 401) continue
      return `The Kubernetes API of ${m.name} does not answer with the secrets of this step yet: ${error.message}`
    }
    if (isRefused === true)
      return `The Kubernetes API of ${m.name} still accepts certificates of the ${client === rotation.from ? 'old' : 'new'} authority`
  }
  return null
}

/** Why the kubelet isn't healthy after its restart, or null. */
async function nodeLack(turn: ChangeTurn, m: MemberRow): Promise<string | null> {
  const kubelet = (await talos(turn, m.node_id, (client) => client.services())).find(
    (s) => s.id === 'kubelet',
  )
  if (kubelet?.state !== 'Running' || kubelet.healthy !== true)
    return `The kubelet of ${m.name} is restarting`
  const node = (await (await kubernetesOf(turn.parts, turn.state)).nodes(turn.job.signal)).find(
    (n) => n.name === m.name,
  )
  if (node === undefined) return `Kubernetes has no node ${m.name}`
  return node.ready ? null : `${m.name} is not Ready: ${node.reason}`
}

/**
 * Why pods can't verify the API server with the new authority yet, or null. Its certificate is in
 * the ConfigMap `kube-root-ca.crt` of each namespace.
 */
export async function podsLack(turn: ChangeTurn, issuing: SecretsBundle): Promise<string | null> {
  const object = await (
    await kubernetesOf(turn.parts, turn.state)
  ).get('/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt', turn.job.signal)
  const data = isRecord(object) ? object['data'] : undefined
  const text = isRecord(data) ? data['ca.crt'] : undefined
  if (typeof text === 'string' && text.includes(issuing.certs.k8s.crt.trim())) return null
  return 'Kubernetes has not given the new authority to the pods yet (ConfigMap kube-root-ca.crt)'
}

/**
 * Why aggregated APIs can't verify the API servers with the new authority yet, or null. Kubernetes
 * publishes it in a ConfigMap, together with the old one.
 */
export async function aggregatorLack(
  turn: ChangeTurn,
  issuing: SecretsBundle,
): Promise<string | null> {
  const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
  const object = await (await kubernetesOf(turn.parts, turn.state)).get(path, turn.job.signal)
  const data = isRecord(object) ? object['data'] : undefined
  const text = isRecord(data) ? data['requestheader-client-ca-file'] : undefined
  // Without aggregation the entry is missing.
  if (typeof text !== 'string' || text.includes(issuing.certs.k8sAggregator.crt.trim())) return null
  return 'Kubernetes has not given the new authority to the aggregated APIs yet (ConfigMap extension-apiserver-authentication)'
}
