/** Certificates of a cluster and when they expire, read from the machines during the call. */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'
import { time } from '../page.ts'
import { certificateKind, type CertificateKind, EndingCertificate } from './ending-certificates.ts'

/**
 * Purpose of each kind of certificate, and what renews it before it expires. `rotation`: only a
 * rotation of the secrets. `nobody`: Talos can't replace it.
 */
export const certificateKinds = {
  talos_ca: { title: 'Authority of the Talos API', renewed_by: 'rotation' },
  kubernetes_ca: { title: 'Authority of the Kubernetes API', renewed_by: 'rotation' },
  aggregator_ca: { title: 'Authority of aggregated APIs', renewed_by: 'rotation' },
  etcd_ca: { title: 'Authority of etcd', renewed_by: 'nobody' },
  steelyard_talos: { title: "Steelyard's certificate for the Talos API", renewed_by: 'steelyard' },
  steelyard_kubernetes: {
    title: "Steelyard's certificate for the Kubernetes API",
    renewed_by: 'steelyard',
  },
  talos_api: { title: 'Talos API', renewed_by: 'talos' },
  kubernetes_api: { title: 'Kubernetes API', renewed_by: 'talos' },
  kubelet_client: { title: 'Kubernetes API, as a client of kubelets', renewed_by: 'talos' },
  front_proxy: { title: 'Kubernetes API, as a client of aggregated APIs', renewed_by: 'talos' },
  etcd_server: { title: 'etcd', renewed_by: 'talos' },
  etcd_peer: { title: 'etcd, between members', renewed_by: 'talos' },
  kubelet: { title: 'Kubelet', renewed_by: 'talos' },
} as const satisfies Record<CertificateKind, { title: string; renewed_by: string }>
const renewers = ['rotation', 'talos', 'steelyard', 'nobody'] as const

export const ClusterCertificate = z.object({
  kind: certificateKind,
  /** The server that has the certificate; null for a certificate of the whole cluster. */
  node_id: z.nullable(z.uuid()),
  name: z.nullable(z.string()),
  /** null if the certificate could not be read. */
  starts_at: z.nullable(time),
  ends_at: z.nullable(time),
  renewed_by: z.enum(renewers),
  /**
   * Whether a user has to act: the certificate expires soon and, if it is renewed automatically,
   * its renewal is overdue.
   */
  ending: z.boolean(),
  /** Why it could not be read, or what to do. */
  reason: z.nullable(z.string()),
})
export type ClusterCertificate = z.infer<typeof ClusterCertificate>

const ClusterCertificates = z.object({ items: z.array(ClusterCertificate) })
export type ClusterCertificates = z.infer<typeof ClusterCertificates>

export const clusterCertificates = operation(
  'clusterCertificates',
  'GET /v1/clusters/{id}/certificates',
  'clusters:read',
  {
    summary:
      "A cluster's certificates and when they expire, read now from its servers. Takes a few seconds if a server does not answer.",
    answer: ClusterCertificates,
  },
)

const dayMs = 86_400_000

/**
 * A certificate expires soon in its last 30 days, or in the last tenth of a shorter lifetime. Talos
 * and Steelyard renew theirs earlier than that.
 */
export const isEnding = (startsAt: Date, endsAt: Date, now: number): boolean =>
  endsAt.getTime() - now < Math.min(30 * dayMs, (endsAt.getTime() - startsAt.getTime()) / 10)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    EndingCertificate: [
      EndingCertificate,
      'A certificate of a cluster that expires soon, and what renews it.',
    ],
    ClusterCertificate: [
      ClusterCertificate,
      'A certificate of a cluster or of one of its servers: when it expires and what renews it. A time is null if the certificate could not be read.',
    ],
  },
}
