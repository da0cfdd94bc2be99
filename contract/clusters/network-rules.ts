/** Rules of the pod and service networks of a cluster, with their sentences. */
import * as z from 'zod/mini'
import { type Cidr, formatCidr, parseCidr } from '../network/addresses.ts'
import { counted } from '../words.ts'

/** Why the pods and services of a cluster can't have addresses of both families. */
export const noDualStack =
  'clusters with both IPv4 and IPv6 (dual stack) are not supported, use one of them'

/** A network in CIDR notation. `what`: its name in the sentences, such as "Pod CIDR". */
export const cidr = (what: string) =>
  z.string().check(
    z.trim(),
    z.maxLength(64, `${what} must be one network such as 10.244.0.0/16`),
    z.refine((text) => parseCidr(text) !== null, {
      error: ({ input }) =>
        String(input).includes(',')
          ? `${what} must be one network: ${noDualStack}`
          : `${what} must be a network such as 10.244.0.0/16, with host bits zero`,
    }),
  )

/** Why a pod and a service network can't be together, or null. */
export const familyProblem = (pod: Cidr, service: Cidr): string | null =>
  pod.family === service.family
    ? null
    : `The pod network is IPv${pod.family} and the service network IPv${service.family}: ${noDualStack}`

/**
 * Why the pod network has no room for so many nodes, or null. Kubernetes gives each node a /24, or
 * a /64 in IPv6 (`node-cidr-mask-size` of kube-controller-manager).
 */
export function roomProblem(pod: Cidr, nodes: number): string | null {
  const perNode = pod.family === 4 ? 24 : 64
  const room = Math.floor(2 ** (perNode - pod.prefix))
  if (room === 0 || nodes <= room) return null
  const wanted = perNode - Math.ceil(Math.log2(nodes))
  return `The pod network ${formatCidr(pod)} has room for ${counted(room, 'node')}, because every node takes a /${perNode} of it; ${counted(nodes, 'server')} need a /${wanted} or larger`
}

/**
 * Whether a patch may give nodes another part of the pod network than `roomProblem` assumes: by an
 * argument, or by a field of KubeNetworkConfig since Talos 1.14.
 */
export const mayResizeNodes = (body: string): boolean =>
  /node-cidr-mask-size|nodeCIDRMaskSizeIPv[46]/.test(body)
