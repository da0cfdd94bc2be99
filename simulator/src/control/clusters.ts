import type { IncomingMessage } from 'node:http'
import * as z from 'zod/mini'
import { LOAD_BALANCERS } from '../kubernetes/balancing/definitions.ts'
import { clustersOf, handOn } from '../kubernetes/hand.ts'
import type { World } from '../world.ts'
import { parsed, Refused } from './refused.ts'

const name = z.string().check(z.regex(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/, 'a name of Kubernetes: small letters, digits and hyphens'))
const serviceSchema = z.strictObject({
  name,
  namespace: z._default(name, 'default'),
  ports: z._default(z.array(z.int().check(z.minimum(1), z.maximum(65_535))).check(z.minLength(1)), [443]),
  labels: z.optional(z.record(z.string(), z.string())),
  annotations: z.optional(z.record(z.string(), z.string())),
})
const loadBalancerSchema = z.strictObject({ load_balancer: z.enum(LOAD_BALANCERS) })
const changeSchema = z.record(z.string(), z.unknown())

/** Calls about simulated clusters: `/clusters[/NAME[/services[/NAMESPACE/NAME] | /load-balancer | /objects/PLURAL/NAME]]`. */
export const clusterCall = async (
  world: World,
  request: IncomingMessage,
  [which, noun, ...rest]: (string | undefined)[],
  read: (request: IncomingMessage) => Promise<unknown>,
): Promise<unknown> => {
  const call = `${request.method} ${noun ?? ''}`
  if (which === undefined && request.method === 'GET') return { simulated: true, clusters: clustersOf(world).map((hand) => hand.show()) }
  const hand = which === undefined ? undefined : handOn(world, which)
  if (!hand) throw new Refused(404, `There is no simulated cluster ${which ?? ''}`)
  const [first, second] = rest
  if (call === 'GET ' && rest.length === 0) return hand.show()
  if (call === 'PUT load-balancer' && rest.length === 0) hand.setLoadBalancer(parsed(loadBalancerSchema, await read(request)).load_balancer)
  else if (call === 'POST services' && rest.length === 0) {
    const { labels, annotations, ...wish } = parsed(serviceSchema, await read(request))
    hand.addService({ ...wish, ...(labels && { labels }), ...(annotations && { annotations }) })
  } else if (call === 'DELETE services' && first !== undefined && second !== undefined) hand.removeService(first, second)
  else if (call === 'PATCH objects' && first !== undefined && second !== undefined) hand.edit(first, second, parsed(changeSchema, await read(request)))
  else if (call === 'DELETE objects' && first !== undefined && second !== undefined) hand.remove(first, second)
  else throw new Refused(404, 'There is no such call')
  return hand.show()
}
