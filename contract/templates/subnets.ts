/** The subnets that a cluster from a template gets. Pure. */
import type { Subnet } from '../network/subnet.ts'
import type { NewTemplate } from './templates.ts'

type Free = Pick<Subnet, 'name' | 'type' | 'total'>

/**
 * Free subnets for each cluster, of those that are large enough the smallest; a string says what is
 * missing.
 * @param free the workload subnets of the datacenter that no cluster has
 */
export function chooseSubnets<S extends Free>(
  free: readonly S[],
  wishes: NewTemplate['subnets'],
  clusters: number,
): S[][] | string {
  const rest = free.toSorted(
    (a, b) => (a.total ?? Infinity) - (b.total ?? Infinity) || (a.name < b.name ? -1 : 1),
  )
  const asked = wishes.length * clusters
  const all: S[][] = []
  for (let at = 0; at < clusters; at++) {
    const own: S[] = []
    for (const { type, addresses } of wishes) {
      const i = rest.findIndex(
        (s) =>
          (type === undefined || s.type === type) && (s.total === null || s.total >= addresses),
      )
      if (i === -1)
        return `Too few subnets: ${asked} ${asked === 1 ? 'is' : 'are'} asked for, and the datacenter has no further free workload subnet${type === undefined ? '' : ` of type ${type}`} with at least ${addresses} addresses`
      own.push(...rest.splice(i, 1))
    }
    all.push(own)
  }
  return all
}
