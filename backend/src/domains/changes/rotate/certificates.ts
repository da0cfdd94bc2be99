/**
 * The certificates of a cluster and when they expire: authorities from the stored secrets, the
 * other certificates read from the machines over the Talos API. Only files without a private key
 * are read, so the kubelet's client certificate is not, because its file also contains the key.
 */
import { X509Certificate } from 'node:crypto'
import {
  certificateKinds,
  type ClusterCertificate,
  type ClusterCertificates,
  isEnding,
} from '#contract/clusters/certificates.ts'
import type { CertificateKind } from '#contract/clusters/ending-certificates.ts'
import { Problem } from '#contract/errors.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { certificatesIn } from '#talos/pki/certificates.ts'
import { clusterRows, type CoreParts, type MemberRow } from '../../clusters/api.ts'
import { isWanted } from '../../control-planes/api.ts'

const deadlineMs = 5_000
const atOnce = 8

/**
 * Certificate files of machines (Talos `pkg/machinery/constants`;
 * `k8s/render_secrets_static_pod.go`).
 */
const apiServerFolder = '/system/secrets/kubernetes/kube-apiserver'
const files: Readonly<
  Record<'control_plane' | 'worker', Partial<Record<CertificateKind, string>>>
> = {
  control_plane: {
    kubernetes_api: `${apiServerFolder}/apiserver.crt`,
    kubelet_client: `${apiServerFolder}/apiserver-kubelet-client.crt`,
    front_proxy: `${apiServerFolder}/front-proxy-client.crt`,
    etcd_server: '/system/secrets/etcd/server.crt',
    etcd_peer: '/system/secrets/etcd/peer.crt',
    kubelet: '/var/lib/kubelet/pki/kubelet.crt',
  },
  worker: { kubelet: '/var/lib/kubelet/pki/kubelet.crt' },
}

type Where = Pick<ClusterCertificate, 'kind' | 'node_id' | 'name'>
const wholeCluster = (kind: CertificateKind): Where => ({ kind, node_id: null, name: null })

const unread = (where: Where, reason: string): ClusterCertificate => ({
  ...where,
  starts_at: null,
  ends_at: null,
  renewed_by: certificateKinds[where.kind].renewed_by,
  ending: false,
  reason,
})

const advice: Readonly<Record<ClusterCertificate['renewed_by'], string>> = {
  rotation: 'Rotate it',
  talos: 'Talos has not renewed it in time: restart the server',
  steelyard: 'Steelyard renews it at its next use',
  nobody: 'Talos cannot replace it: create a new cluster before it expires',
}

function shown(where: Where, from: Date, to: Date, now: number): ClusterCertificate {
  const { renewed_by } = certificateKinds[where.kind]
  const ending = isEnding(from, to, now)
  return {
    ...where,
    starts_at: from.toISOString(),
    ends_at: to.toISOString(),
    renewed_by,
    ending,
    reason: ending ? advice[renewed_by] : null,
  }
}

function fromPem(where: Where, pem: string, now: number): ClusterCertificate {
  try {
    const [first] = certificatesIn(pem)
    return shown(where, first!.validFromDate, first!.validToDate, now)
  } catch {
    return unread(where, 'It is no certificate')
  }
}

type Parts = Pick<CoreParts, 'db' | 'clock' | 'secrets' | 'servers'>

async function ofMember(
  parts: Parts,
  m: MemberRow,
  signal: AbortSignal,
): Promise<ClusterCertificate[]> {
  const now = parts.clock.now()
  const at = (kind: CertificateKind): Where => ({ kind, node_id: m.node_id, name: m.name })
  const wanted = Object.entries(files[m.role]) as [CertificateKind, string][]
  const options = { signal, deadlineMs, lane: 'contact' as const }
  const failed = (error: unknown): string => {
    if (signal.aborted || !(error instanceof TalosError || error instanceof Problem)) throw error
    return error.message
  }
  const readOne = async (client: TalosClient, [kind, path]: [CertificateKind, string]) => {
    try {
      return fromPem(at(kind), await client.readFile(path), now)
    } catch (error) {
      return unread(at(kind), failed(error))
    }
  }
  try {
    const connection = await parts.servers.connection(m.node_id)
    const api = await connection.certificate(options)
    const own = shown(at('talos_api'), api.validFrom, api.validTo, now)
    const credentials = await parts.secrets.talosAdmin(m.cluster_id)
    const read = (client: TalosClient) => Promise.all(wanted.map((one) => readOne(client, one)))
    const others = await connection
      .secure(credentials!, read, options)
      .catch((error: unknown) => wanted.map(([kind]) => unread(at(kind), failed(error))))
    return [own, ...others]
  } catch (error) {
    const reason = failed(error)
    return [unread(at('talos_api'), reason), ...wanted.map(([kind]) => unread(at(kind), reason))]
  }
}

async function ofSecrets(
  { db, clock, secrets }: Parts,
  clusterId: string,
): Promise<ClusterCertificate[]> {
  const now = clock.now()
  const bundle = await secrets.bundle(db, clusterId)
  if (bundle === null) return []
  const { certs } = bundle
  const own = async (kind: 'steelyard_talos' | 'steelyard_kubernetes') => {
    const credentials = await (kind === 'steelyard_talos'
      ? secrets.talosAdmin(clusterId)
      : secrets.kubernetesAdmin(clusterId))
    const { validFromDate, validToDate } = new X509Certificate(credentials!.crt)
    return shown(wholeCluster(kind), validFromDate, validToDate, now)
  }
  return [
    fromPem(wholeCluster('talos_ca'), certs.os.crt, now),
    fromPem(wholeCluster('kubernetes_ca'), certs.k8s.crt, now),
    fromPem(wholeCluster('aggregator_ca'), certs.k8sAggregator.crt, now),
    fromPem(wholeCluster('etcd_ca'), certs.etcd.crt, now),
    await own('steelyard_talos'),
    await own('steelyard_kubernetes'),
  ]
}

/**
 * All certificates of a cluster, the cluster's own first. For a server that doesn't answer, they
 * have the reason instead of their times. Changes nothing.
 */
export async function certificatesOf(
  parts: Parts,
  clusterId: string,
  signal: AbortSignal,
): Promise<ClusterCertificates> {
  const members = (await clusterRows.members(parts.db, clusterId)).filter(
    (m) => isWanted(m) && m.secured_at !== null,
  )
  const read = new Map<string, ClusterCertificate[]>()
  const waiting = [...members]
  const one = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      read.set(next.node_id, await ofMember(parts, next, signal))
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return {
    items: [
      ...(await ofSecrets(parts, clusterId)),
      ...members.flatMap((m) => read.get(m.node_id) ?? []),
    ],
  }
}
