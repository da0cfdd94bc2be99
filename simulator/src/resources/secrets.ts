import { KubernetesRootSpecSchema, OSRootSpecSchema } from '#talos/proto/gen/definitions/secrets_pb.ts'
import type { Pair } from '../config/node-config.ts'
import type { Machine } from '../machine/machine.ts'
import { ipBytes, item, kind, type Item, type Kind } from './resource.ts'

const bytes = (pem: string | null): Uint8Array => Buffer.from(pem ?? '')
const protoPair = (pair: Pair | null) => ({ crt: bytes(pair?.crt ?? null), key: bytes(pair?.key ?? null) })
const base64 = (pem: string | null): string => Buffer.from(pem ?? '').toString('base64')
const yamlPair = (pair: Pair | null) => ({ crt: base64(pair?.crt ?? null), key: base64(pair?.key ?? null) })
const protoAccepted = (pems: readonly string[]) => pems.map((pem) => ({ crt: bytes(pem) }))
const yamlAccepted = (pems: readonly string[]) => pems.map((pem) => ({ crt: base64(pem) }))

/** Talos's authority as the machine's configuration has it; the key only where it issues (Talos: controllers/secrets/root.go). */
const talosRoot = ({ config, plan, hostname }: Machine): Item[] => {
  const node = config?.node
  if (!node) return []
  const names = [hostname, ...node.certSans]
  return [
    item(
      'os',
      OSRootSpecSchema,
      {
        issuingCa: protoPair(node.talosCa),
        certSaniPs: [{ ip: ipBytes(plan.address) }],
        certSandnsNames: names,
        token: node.token,
        acceptedCAs: protoAccepted(node.acceptedCas),
      },
      {
        issuingCA: yamlPair(node.talosCa),
        certSANIPs: [plan.address],
        certSANDNSNames: names,
        token: node.token,
        acceptedCAs: yamlAccepted(node.acceptedCas),
      },
    ),
  ]
}

const kubernetesRoot = ({ config }: Machine): Item[] => {
  const node = config?.node
  if (node?.role !== 'controlplane') return []
  const { name, endpoint, apiServerPort, apiServerSans, ca, acceptedCas, aggregatorCa, serviceAccountKey, token } = node.cluster
  const localEndpoint = `https://localhost:${apiServerPort}`
  const [tokenId = '', tokenSecret = ''] = token.split('.')
  return [
    item(
      'k8s',
      KubernetesRootSpecSchema,
      {
        name,
        endpoint: { fullPath: endpoint },
        localEndpoint: { fullPath: localEndpoint },
        certSaNs: apiServerSans,
        dnsDomain: 'cluster.local',
        issuingCa: protoPair(ca),
        serviceAccount: { key: bytes(serviceAccountKey) },
        aggregatorCa: protoPair(aggregatorCa),
        bootstrapTokenId: tokenId,
        bootstrapTokenSecret: tokenSecret,
        acceptedCAs: protoAccepted(acceptedCas),
      },
      {
        name,
        endpoint,
        localEndpoint,
        certSANs: apiServerSans,
        dnsDomain: 'cluster.local',
        issuingCA: yamlPair(ca),
        serviceAccount: { key: base64(serviceAccountKey) },
        aggregatorCA: yamlPair(aggregatorCa),
        bootstrapTokenID: tokenId,
        bootstrapTokenSecret: tokenSecret,
        acceptedCAs: yamlAccepted(acceptedCas),
      },
    ),
  ]
}

export const SECRETS: Kind[] = [kind('OSRootSecrets.secrets.talos.dev', talosRoot), kind('KubernetesRootSecrets.secrets.talos.dev', kubernetesRoot)]
