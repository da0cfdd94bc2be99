/** Facts of links, in both forms: `machine.network`, and documents since Talos 1.12. */
import { at, type MapNode, textAt } from '../config/tree.ts'

/** Virtual addresses of a machine's links. */
export function virtualAddresses(roots: readonly MapNode[]): string[] {
  const main = roots.find((root) => textAt(root, 'kind') === undefined)
  const links = at(main, 'machine', 'network', 'interfaces')
  return [
    ...roots
      .filter((root) => textAt(root, 'kind') === 'Layer2VIPConfig')
      .flatMap((root) => textAt(root, 'name') ?? []),
    ...(links?.is === 'list' ? links.items.flatMap((link) => textAt(link, 'vip', 'ip') ?? []) : []),
  ]
}
