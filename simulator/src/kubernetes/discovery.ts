import { apiVersionOf, type ResourceKind } from './kinds.ts'
import { Refusal } from './refusal.ts'
import { REVIEWS } from './reviews.ts'

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

/** Answers discovery calls; null for other paths. Throws a `Refusal` for an unknown group or version. */
export const discover = (kinds: readonly ResourceKind[], path: string): object | null => {
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] }
  const groups = [...new Set([...kinds, ...REVIEWS].map(({ group }) => group))].filter((group) => group !== '')
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map((name) => groupOf(kinds, name)) }
  const [, root, group = '', version, ...more] = path.split('/')
  if (root === 'apis' && version === undefined && group !== '') {
    if (!groups.includes(group)) throw absent()
    return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(kinds, group) }
  }
  if (root === 'api' && group === 'v1' && version === undefined) return resourcesOf(kinds, '', 'v1')
  if (root === 'apis' && version !== undefined && more.length === 0) return resourcesOf(kinds, group, version)
  return null
}

/** Every group and version, as `v1` or `apps/v1`. */
export const groupVersions = (kinds: readonly ResourceKind[]): string[] => [...new Set([...kinds, ...REVIEWS].map(apiVersionOf))]

const absent = (): Refusal => new Refusal(404, 'NotFound', 'the server could not find the requested resource')

const groupOf = (kinds: readonly ResourceKind[], name: string): object => {
  const versions = [...new Set([...kinds, ...REVIEWS].filter(({ group }) => group === name).map(({ version }) => version))]
    .toSorted(preferred)
    .map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions, preferredVersion: versions[0] }
}

/** Stable versions before beta and alpha ones, higher numbers first (Kubernetes: apimachinery/pkg/version). */
const preferred = (one: string, other: string): number => {
  const rank = (version: string): number[] => {
    const [, major = '0', kind = '', minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? []
    return [kind === '' ? 2 : kind === 'beta' ? 1 : 0, Number(major), Number(minor)]
  }
  const [a, b] = [rank(one), rank(other)]
  const at = a.findIndex((value, index) => value !== b[index])
  return at === -1 ? 0 : b[at]! - a[at]!
}

const resourcesOf = (kinds: readonly ResourceKind[], group: string, version: string): object => {
  const isHere = (kind: { group: string; version: string }): boolean => kind.group === group && kind.version === version
  const resources = kinds.filter(isHere).flatMap(({ plural, kind, namespaced, hasStatus, shortNames, categories }) => [
    {
      name: plural,
      singularName: kind.toLowerCase(),
      namespaced,
      kind,
      verbs: VERBS,
      ...(shortNames.length > 0 && { shortNames }),
      ...(categories.length > 0 && { categories }),
    },
    ...(hasStatus ? [{ name: `${plural}/status`, singularName: '', namespaced, kind, verbs: ['get'] }] : []),
    ...(plural === 'pods' && group === ''
      ? [{ name: 'pods/eviction', singularName: '', namespaced, kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] }]
      : []),
  ])
  const reviews = REVIEWS.filter(isHere).map(({ plural, kind }) => ({
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced: false,
    kind,
    verbs: ['create'],
  }))
  if (resources.length + reviews.length === 0) throw absent()
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf({ group, version }), resources: [...resources, ...reviews] }
}
