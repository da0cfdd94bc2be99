/**
 * Compares two configurations of one machine by meaning. Comments, quotes and the order of keys
 * don't count as differences, and neither do images and versions, which Talos's own tools change
 * (`talosctl upgrade-k8s` writes them into the machine's configuration). Documents that the model
 * doesn't know are compared as plain YAML values.
 */
import { stringify } from 'yaml'
import { withChangedImages } from '../facts/images.ts'
import { changedSecrets } from '../facts/secrets.ts'
import { generic, plain, type Read, readOne, rootsOf, written } from './whole.ts'

export type Compared = ReturnType<typeof compareConfigs>

/**
 * @param before the configuration that was sent to the machine, or its last known one
 * @param after the machine's current configuration
 * @returns documents by id (`v1alpha1`, `HostnameConfig`, `VLANConfig eth0.5`) in Talos's own form,
 * or unchanged except for sorted keys if the model doesn't know the document; the images of
 * `after`, if any of them differs from `before`; places of keys, tokens and authorities that differ
 * @throws ConfigError if one of them is invalid YAML
 */
export function compareConfigs(before: string, after: string) {
  const [from, to] = [rootsOf(before).map(readOne), rootsOf(after).map(readOne)]
  const found = to.map(({ root }) => root)
  const { roots, images } = withChangedImages(
    from.map(({ root }) => root),
    found,
  )
  const equalised = from.map((d, i) => ({ ...d, root: roots[i]! }))
  const ids = [...new Set([...equalised, ...to].map((d) => d.id))]
  const documents = ids.flatMap((id) => {
    const [one, other] = [equalised.find((d) => d.id === id), to.find((d) => d.id === id)]
    // If the model doesn't know both documents, they are compared as plain YAML values.
    const isSame =
      one &&
      other &&
      (one.document && other.document
        ? written(one) === written(other)
        : generic(one.root) === generic(other.root))
    const shown = (d: Read | undefined) =>
      d ? { id, yaml: written(d), known: d.document !== null } : null
    return [{ id, before: shown(one), after: shown(other), isSame: isSame === true }]
  })
  return {
    same: documents.every((d) => d.isSame),
    documents: documents.map(({ id, before: one, after: other }) => ({
      id,
      before: one,
      after: other,
    })),
    images,
    ...changedSecrets(roots, found),
  }
}

/**
 * For each of the others, whether it means the same as `config`. @throws ConfigError if one of them
 * is invalid YAML
 */
export const sameAs = (config: string, others: readonly string[]): boolean[] =>
  others.map((other) => compareConfigs(config, other).same)

/**
 * Splits a configuration into documents that the model knows and unknown ones, so that merging a
 * patch doesn't lose documents of a newer Talos.
 */
export function apart(config: string): { known: string; unknown: string } {
  const all = rootsOf(config).map(readOne)
  const text = (some: readonly Read[]) => some.map(written).join('---\n')
  const unknown = all.filter((d) => d.document === null)
  return unknown.length === 0
    ? { known: config, unknown: '' }
    : { known: text(all.filter((d) => d.document !== null)), unknown: text(unknown) }
}

type Plain = string | number | boolean | bigint | null | Plain[] | { [key: string]: Plain }
const isMap = (value: Plain | undefined): value is Record<string, Plain> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const canonical = (value: Plain | undefined): string =>
  JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v)) ?? ''

/**
 * The strategic merge patch that changes `before` into `after`; undefined if they are equal, null
 * if no patch can do that.
 */
function mergeOf(before: Plain | undefined, after: Plain | undefined): Plain | undefined | null {
  if (canonical(before) === canonical(after)) return undefined
  if (after === undefined) return { $patch: 'delete' }
  if (isMap(before) && isMap(after)) {
    const said: Record<string, Plain> = {}
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const one = mergeOf(before[key], after[key])
      if (one === null) return null
      if (one !== undefined) said[key] = one
    }
    return said
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const isLonger =
      after.length > before.length &&
      before.every((item, i) => canonical(item) === canonical(after[i]))
    return isLonger ? after.slice(before.length) : null
  }
  return after
}

/**
 * The difference as a patch that changes `before` into `after`, or null if a strategic merge can't
 * express it, such as the removal of a list element. The patch is a proposal: the caller has to
 * check that merging it results in `after`, with the same merge that will be used.
 */
export function patchBetween({ documents }: Compared): string | null {
  const parts: string[] = []
  const value = ({ yaml }: { yaml: string }): Plain => plain(rootsOf(yaml)[0]!) as Plain
  for (const { before, after } of documents) {
    if (before?.yaml === after?.yaml) continue
    if ([before, after].some((d) => d !== null && !d.known)) return null
    const [one, other] = [before && value(before), after && value(after)]
    const head = (d: Plain | null): Record<string, Plain> =>
      isMap(d ?? undefined)
        ? Object.fromEntries(
            ['apiVersion', 'kind', 'name'].flatMap((key) =>
              key in (d as object) ? [[key, (d as Record<string, Plain>)[key]!]] : [],
            ),
          )
        : {}
    const said = other === null ? { $patch: 'delete' } : one === null ? other : mergeOf(one, other)
    if (said === null || said === undefined || !isMap(said)) return null
    parts.push(stringify({ ...head(one ?? other), ...said }, { indent: 2, lineWidth: 0 }))
  }
  return parts.length === 0 ? null : parts.join('---\n')
}
