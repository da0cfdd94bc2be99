/** Reads single values of a configuration. */
import { at, readDocuments, textAt } from './tree.ts'

/**
 * The texts at paths of a configuration's main document, such as `cluster.controlPlane.endpoint`: a
 * text, the texts of a list, or null if there is neither.
 * @throws ConfigError for invalid YAML
 */
export function valuesIn<const Paths extends readonly string[]>(
  config: string,
  paths: Paths,
): { [path in Paths[number]]: string | string[] | null } {
  const main = readDocuments(config, '').find(
    (root) => at(root, 'machine') !== undefined || at(root, 'cluster') !== undefined,
  )
  const valueAt = (path: string): string | string[] | null => {
    const found = at(main, ...path.split('.'))
    return found?.is === 'list'
      ? found.items.flatMap((item) => textAt(item) ?? [])
      : (textAt(found) ?? null)
  }
  return Object.fromEntries(paths.map((path) => [path, valueAt(path)])) as {
    [path in Paths[number]]: string | string[] | null
  }
}
