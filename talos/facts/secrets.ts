/** Which keys, tokens and authorities differ between two configurations of one machine. */
import type { MapNode } from '../config/tree.ts'
import { plain } from '../config/whole.ts'
import { type Fact, homeIn, nodeAt, readIn, rootOf } from './home.ts'
import { secretFacts } from './table.ts'

/**
 * `secrets`: where they are in `after`: `cluster.ca`, `KubeAPIServerCAConfig.issuingCA`.
 * `hasOtherKubernetes`: certificates of the Kubernetes API are issued by another authority.
 */
export function changedSecrets(
  before: readonly MapNode[],
  after: readonly MapNode[],
): { readonly secrets: readonly string[]; readonly hasOtherKubernetes: boolean } {
  const placesOf = <V>(fact: Fact<V>): string[] => {
    const [home, other] = [homeIn(before, fact), homeIn(after, fact)]
    const [root, otherRoot] = [rootOf(before, home.kind), rootOf(after, other.kind)]
    const placeOf = (path: string) => (other.kind === '' ? path : `${other.kind}.${path}`)
    if (home !== other)
      return JSON.stringify(home.read(root)) === JSON.stringify(other.read(otherRoot))
        ? []
        : other.paths.slice(0, 1).map(placeOf)
    return home.paths
      .filter((path) => valueAt(root, path) !== valueAt(otherRoot, path))
      .map(placeOf)
  }
  const issuerOf = (roots: readonly MapNode[]) =>
    readIn(roots, secretFacts.kubernetesAuthorities).issuing?.crt
  return {
    secrets: Object.values(secretFacts).flatMap((fact) => placesOf(fact as Fact<unknown>)),
    hasOtherKubernetes: issuerOf(before) !== issuerOf(after),
  }
}

/** An unset value equals an empty one. */
function valueAt(root: MapNode | undefined, path: string): string {
  const node = nodeAt(root, path)
  const value = node === undefined ? null : plain(node)
  return value === null || value === '' || (Array.isArray(value) && value.length === 0)
    ? ''
    : JSON.stringify(value)
}
