import { KubernetesRootSpecSchema, OSRootSpecSchema } from '#talos/proto/gen/definitions/secrets_pb.ts'
import type { Pair } from '../config/node-config.ts'
import type { Machine } from '../machine/machine.ts'
import { ipBytes, item, kind, type Item, type Kind } from './resource.ts'

const bytes = (pem: string | null): Uint8Array => Buffer.from(pem ?? '')
const pair = (from: Pair | null) => ({ crt: bytes(from?.crt ?? null), key: bytes(from?.key ?? null) })
const accepted = (pems: readonly string[]) => pems.map((pem) => ({ crt: bytes(pem) }))

/** Talos's authority from the machine's configuration. Only control planes have its key (Talos: controllers/secrets/root.go). */
const talosRoot = ({ config, plan, hostname }: Machine): Item[] => {
  const node = config?.node
  if (!node) return []
  const names = [hostname, ...node.certSans]
  return [
    item('os', OSRootSpecSchema, {
      issuingCa: pair(node.talosCa),
      certSaniPs: [{ ip: ipBytes(plan.address) }],
      certSandnsNames: names,
      token: node.token,
      acceptedCAs: accepted(node.acceptedCas),
    }),
  ]
}

const kubernetesRoot = ({ config }: Machine): Item[] => {
  const node = config?.node
  if (node?.role !== 'controlplane') return []
  const { name, endpoint, apiServerPort, apiServerSans, ca, acceptedCas, aggregatorCa, serviceAccountKey, token } = node.cluster
  const localEndpoint = `https://localhost:${apiServerPort}`
  const [tokenId = '', tokenSecret = ''] = token.split('.')
  return [
    item('k8s', KubernetesRootSpecSchema, {
      name,
      endpoint: { fullPath: endpoint },
      localEndpoint: { fullPath: localEndpoint },
      certSaNs: apiServerSans,
      dnsDomain: 'cluster.local',
      issuingCa: pair(ca),
      serviceAccount: { key: bytes(serviceAccountKey) },
      aggregatorCa: pair(aggregatorCa),
      bootstrapTokenId: tokenId,
      bootstrapTokenSecret: tokenSecret,
      acceptedCAs: accepted(acceptedCas),
    }),
  ]
}

export const SECRETS: Kind[] = [kind('OSRootSecrets.secrets.talos.dev', talosRoot), kind('KubernetesRootSecrets.secrets.talos.dev', kubernetesRoot)]
