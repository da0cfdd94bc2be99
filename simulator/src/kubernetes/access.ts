import type { TLSSocket } from 'node:tls'
import { list, object, text } from '../config/shape.ts'
import { organizationsOf } from '../wire/peer.ts'
import { BUILT_IN } from './kinds.ts'
import type { Objects } from './objects.ts'
import { Refusal } from './refusal.ts'

export interface User {
  name: string
  groups: string[]
}

/** Who calls, by the client certificate alone: common name and organizations of one signed by the cluster's Kubernetes authority. Anonymous calls are refused, as Talos sets it. */
export const userOf = (socket: TLSSocket): User => {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined
  if (!certificate) throw new Refusal(401, 'Unauthorized', 'Unauthorized')
  const name = /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? ''
  return { name, groups: [...organizationsOf(certificate.subject), 'system:authenticated'] }
}

export interface Wish {
  verb: string
  group: string
  resource: string
  namespace: string
  path: string
}

/** Members of system:masters may do everything; others what a binding grants them. */
export const authorize = (objects: Objects, user: User, wish: Wish): void => {
  if (user.groups.includes('system:masters')) return
  const bindings = objects.list(kindOf('clusterrolebindings'), '').filter((binding) => isBound(binding, user))
  const roles = objects.list(kindOf('clusterroles'), '')
  for (const binding of bindings) {
    const role = roles.find((candidate) => text(object(candidate.metadata).name) === text(object(binding.roleRef).name))
    if (
      list(role?.rules)
        .map(object)
        .some((rule) => grants(rule, wish))
    )
      return
  }
  if (wish.resource === '' && ['/version', '/livez', '/readyz', '/healthz', '/api', '/apis'].includes(wish.path)) return
  const what =
    wish.resource === ''
      ? `path "${wish.path}"`
      : `resource "${wish.resource}" in API group "${wish.group}"${wish.namespace === '' ? ' at the cluster scope' : ` in the namespace "${wish.namespace}"`}`
  throw new Refusal(403, 'Forbidden', `User "${user.name}" cannot ${wish.verb} ${what}`)
}

const kindOf = (plural: string): (typeof BUILT_IN)[number] => BUILT_IN.find((kind) => kind.plural === plural)!

const isBound = (binding: Record<string, unknown>, user: User): boolean =>
  list(binding.subjects)
    .map(object)
    .some((subject) => (subject.kind === 'Group' && user.groups.includes(text(subject.name))) || (subject.kind === 'User' && subject.name === user.name))

const grants = (rule: Record<string, unknown>, { verb, group, resource, path }: Wish): boolean => {
  const has = (values: unknown, wanted: string): boolean => list(values).some((value) => value === '*' || value === wanted)
  if (resource === '')
    return (
      has(rule.verbs, verb) &&
      list(rule.nonResourceURLs).some((url) => url === '*' || url === path || (text(url).endsWith('*') && path.startsWith(text(url).slice(0, -1))))
    )
  return has(rule.verbs, verb) && has(rule.apiGroups, group) && has(rule.resources, resource)
}
