/**
 * The certificates of a cluster that should be renewed by now, as each cluster names them. They are
 * apart from the words of each kind (`certificates.ts`), which a list of clusters doesn't show.
 */
import * as z from 'zod/mini'
import { time } from '../page.ts'

export const certificateKind = z.enum([
  'talos_ca',
  'kubernetes_ca',
  'aggregator_ca',
  'etcd_ca',
  'steelyard_talos',
  'steelyard_kubernetes',
  'talos_api',
  'kubernetes_api',
  'kubelet_client',
  'front_proxy',
  'etcd_server',
  'etcd_peer',
  'kubelet',
])
export type CertificateKind = z.infer<typeof certificateKind>

/** A certificate that expires soon, as stored with its cluster. */
export const EndingCertificate = z.object({
  kind: certificateKind,
  /** Name of its server; null for a certificate of the whole cluster. */
  name: z.nullable(z.string()),
  ends_at: time,
  /** What to do. */
  reason: z.string(),
})
export type EndingCertificate = z.infer<typeof EndingCertificate>
