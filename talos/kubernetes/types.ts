/**
 * The fields of the configurations of Kubernetes's programs, in each minor. `types.json` is printed
 * from Kubernetes's published Go types by `conformance/kubernetes.ts`.
 */
import printed from './types.json' with { type: 'json' }

/** One value for all minors, or one for each range of them: `{"32-34": "bool"}`. */
type ByMinor = string | Readonly<Record<string, string>>
const kinds = printed.kinds as Readonly<Record<string, ByMinor>>
const types = printed.types as Readonly<Record<string, Readonly<Record<string, ByMinor>>>>

/** The first and the last minor whose types are known: 32 for 1.32. */
export const [oldestTypes, newestTypes] = printed.minors as [number, number]

interface Range {
  readonly first: number
  readonly last: number
  readonly value: string
}
const rangesOf = (found: ByMinor): Range[] =>
  typeof found === 'string'
    ? [{ first: oldestTypes, last: newestTypes, value: found }]
    : Object.entries(found).map(([range, value]) => {
        const [first = 0, last = 0] = range.split('-').map(Number)
        return { first, last, value }
      })

/** The minor whose types apply: the nearest known one. Null, if the version is unknown, stays. */
export const minorOfTypes = (minor: number | null): number | null =>
  minor === null ? null : Math.min(Math.max(minor, oldestTypes), newestTypes)

/** The value in a minor; in an unknown version that of the newest minor which has one. */
const valueIn = (found: ByMinor | undefined, minor: number | null): string | undefined =>
  found === undefined
    ? undefined
    : minor === null
      ? rangesOf(found).at(-1)?.value
      : rangesOf(found).find(({ first, last }) => first <= minor && minor <= last)?.value

/**
 * The type of a kind; undefined if the minor has no such version of it.
 * @param kind `KubeletConfiguration`
 * @param version `kubelet.config.k8s.io/v1beta1`
 */
export const typeOfKind = (
  kind: string,
  version: string,
  minor: number | null,
): string | undefined =>
  Object.hasOwn(kinds, `${version} ${kind}`)
    ? valueIn(kinds[`${version} ${kind}`], minor)
    : undefined

/** The versions that a minor has of a kind, the newest last. */
export const versionsOfKind = (kind: string, minor: number | null): string[] =>
  Object.keys(kinds)
    .filter((one) => one.endsWith(` ${kind}`))
    .map((one) => one.split(' ', 1)[0]!)
    .filter((version) => typeOfKind(kind, version, minor) !== undefined)
    .toSorted((a, b) => rank(a) - rank(b))

/** v1 after v1beta1 after v1alpha1. */
const rank = (version: string): number =>
  ['v1alpha1', 'v1beta1', 'v1'].indexOf(version.split('/')[1]!)

/** What the field of a type takes; undefined if the minor has no such field. */
export const fieldOf = (type: string, field: string, minor: number | null): string | undefined =>
  Object.hasOwn(types[type] ?? {}, field) ? valueIn(types[type]![field], minor) : undefined

/** The names of the fields that a type has in a minor. */
export const fieldsOf = (type: string, minor: number | null): string[] =>
  Object.keys(types[type] ?? {}).filter((field) => fieldOf(type, field, minor) !== undefined)

/** The minors that have a field which this one lacks; null if none has it. */
export function minorsWith(type: string, field: string): { first: number; last: number } | null {
  const found = Object.hasOwn(types[type] ?? {}, field) ? rangesOf(types[type]![field]!) : []
  return found.length === 0 ? null : { first: found[0]!.first, last: found.at(-1)!.last }
}
