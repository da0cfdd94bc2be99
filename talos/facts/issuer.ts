/**
 * The issuer of service accounts' tokens. In the main document it is the endpoint of the Kubernetes
 * API; in its document it is a value of its own (Talos `config/types/k8s/service_account.go`).
 */
import type { MapNode } from '../config/tree.ts'
import { text, texts } from './forms.ts'
import { nodeAt, put, rootOf } from './home.ts'

const kind = 'KubeServiceAccountConfig'
const others = (values: readonly string[], own: string): string[] => [
  ...new Set(values.filter((value) => value !== own)),
]

/**
 * The documents with the issuer of another endpoint, if the issuer was the former endpoint. Tokens
 * that it has issued stay valid, unlike in the main document.
 */
export function withIssuer(
  roots: readonly MapNode[],
  former: string | null,
  endpoint: string,
): readonly MapNode[] {
  const root = rootOf(roots, kind)
  const issuer = text.read(nodeAt(root, 'issuer.issuerURL'))
  if (root === undefined || issuer === null || issuer !== former || issuer === endpoint)
    return roots
  const issuers = texts.read(nodeAt(root, 'accepted.issuers'))
  const audiences = texts.read(nodeAt(root, 'accepted.audiences'))
  const followed = put(
    put(
      put(root, 'issuer.issuerURL', endpoint),
      'accepted.issuers',
      others([issuer, ...issuers], endpoint),
    ),
    // Without audiences it is the issuer.
    'accepted.audiences',
    [endpoint, ...others(audiences.length === 0 ? [issuer] : audiences, endpoint)],
  )
  return roots.map((one) => (one === root ? followed : one))
}
