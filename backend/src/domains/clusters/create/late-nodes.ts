/** Why a server is not Ready in Kubernetes yet. Pure. */
import type { KubernetesNode } from '../../../kubernetes/client.ts'

interface Late {
  readonly name: string
  /** Its dialled address. */
  readonly address: string
  /** It has answered over its secured API. */
  readonly secured: boolean
}

/** Null if Kubernetes reports nothing about it. */
export function lateReason(late: Late, nodes: readonly KubernetesNode[]): string | null {
  const own = nodes.find((n) => n.name === late.name)
  if (!own) {
    const other = nodes.find((n) => n.addresses.includes(late.address))
    return other ? `${late.name} calls itself ${other.name} in Kubernetes: its configuration must not change its node name` : null
  }
  if (!own.ready) return `${late.name}: ${own.reason}`
  const [elsewhere] = own.addresses
  if (late.secured || elsewhere === undefined || own.addresses.includes(late.address)) return null
  return `${late.name} is Ready at ${elsewhere}, but it is looked for at ${late.address}: let its DHCP server give it that address again`
}
