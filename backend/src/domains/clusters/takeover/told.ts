/**
 * Reads the configuration of a machine that another tool has made. Pure: it runs on a worker
 * thread, because the machine wrote the text.
 */
import { imagesOf } from '#talos/config/compare.ts'
import { at, ConfigError, type MapNode, readDocuments, textAt } from '#talos/config/tree.ts'

const firstOf = (main: MapNode | undefined, ...path: string[]): string => {
  const list = at(main, ...path)
  return (list?.is === 'list' ? textAt(list.items[0]) : undefined) ?? ''
}

function documentsOf(config: string): MapNode[] {
  try {
    return readDocuments(config, 'machine')
  } catch (error) {
    if (error instanceof ConfigError) return []
    throw error
  }
}

/**
 * What a takeover needs from a configuration. Texts are empty if they aren't set, or if the
 * configuration has anchors. @throws ConfigError for invalid YAML
 */
export function toldBy(config: string) {
  const roots = documentsOf(config)
  const main = roots.find((root) => at(root, 'machine') !== undefined)
  const links = at(main, 'machine', 'network', 'interfaces')
  return {
    role:
      textAt(main, 'machine', 'type') === 'worker'
        ? ('worker' as const)
        : ('control_plane' as const),
    images: imagesOf(config),
    clusterName: textAt(main, 'cluster', 'clusterName') ?? '',
    endpoint: textAt(main, 'cluster', 'controlPlane', 'endpoint') ?? '',
    podCidr: firstOf(main, 'cluster', 'network', 'podSubnets'),
    serviceCidr: firstOf(main, 'cluster', 'network', 'serviceSubnets'),
    /** Virtual addresses of the control planes. */
    virtualAddresses: [
      ...roots
        .filter((root) => textAt(root, 'kind') === 'Layer2VIPConfig')
        .flatMap((root) => textAt(root, 'name') ?? []),
      ...(links?.is === 'list'
        ? links.items.flatMap((link) => textAt(link, 'vip', 'ip') ?? [])
        : []),
    ],
  }
}
