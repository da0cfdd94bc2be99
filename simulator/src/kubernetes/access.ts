import type { IncomingHttpHeaders } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { type Body, list, object, text, isObject } from '../config/shape.ts'
import { organizationsOf } from '../wire/peer.ts'
import { builtIn } from './kinds.ts'
import type { Objects } from './objects.ts'
import { Refusal, badRequest } from './refusal.ts'

export type User = ReturnType<typeof userOf>

/**
 * The caller's name and groups: common name and organizations of the client certificate. Refuses
 * anonymous calls, as Talos configures Kubernetes.
 */
export const userOf = (socket: TLSSocket) => {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined
  if (!certificate) throw new Refusal(401, 'Unauthorized', 'Unauthorized')
  const name = /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? ''
  return { name, groups: [...organizationsOf(certificate.subject), 'system:authenticated'] }
}

/**
 * The user that the caller impersonates (`kubectl --as`), or the caller. Throws a `Refusal` if the
 * caller may not impersonate that user or those groups (Kubernetes:
 * docs/reference/access-authn-authz/user-impersonation).
 */
export const impersonated = (objects: Objects, user: User, headers: IncomingHttpHeaders): User => {
  const name = headers['impersonate-user']
  const listed = headers['impersonate-group'] ?? []
  // Node.js joins repeated headers with commas.
  const groups =
    typeof listed === 'string' ? listed.split(',').map((group) => group.trim()) : listed
  if (typeof name !== 'string') {
    if (groups.length > 0)
      throw new Refusal(500, 'InternalError', 'requested to impersonate groups without a user')
    return user
  }
  authorize(objects, user, {
    verb: 'impersonate',
    group: '',
    resource: 'users',
    namespace: '',
    path: '',
  })
  if (groups.length > 0)
    authorize(objects, user, {
      verb: 'impersonate',
      group: '',
      resource: 'groups',
      namespace: '',
      path: '',
    })
  return { name, groups: [...new Set([...groups, 'system:authenticated'])] }
}

export interface Wish {
  verb: string
  group: string
  resource: string
  namespace: string
  path: string
}

/**
 * Paths that every authenticated user may read: the roles `system:discovery` and
 * `system:basic-user`.
 */
const DISCOVERY = [
  '/version',
  '/livez',
  '/readyz',
  '/healthz',
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/openapi',
  '/openapi/*',
]
const FOR_ALL: readonly Body[] = [
  { verbs: ['get'], nonResourceURLs: DISCOVERY },
  {
    verbs: ['create'],
    apiGroups: ['authentication.k8s.io', 'authorization.k8s.io'],
    resources: ['*'],
  },
]

/** The rules of all roles bound to a user, cluster-wide and in a namespace. */
const rulesOf = (objects: Objects, user: User, namespace: string): Body[] => {
  const bound = (plural: string, within: string): Body[] =>
    objects.list(builtIn(plural), within).filter((binding) => isBound(binding, user))
  const bindings = [
    ...bound('clusterrolebindings', ''),
    ...(namespace === '' ? [] : bound('rolebindings', namespace)),
  ]
  return [
    ...FOR_ALL,
    ...bindings.flatMap(({ roleRef }) => {
      const { kind, name } = object(roleRef)
      const role =
        kind === 'Role'
          ? { kind: builtIn('roles'), namespace, name: text(name) }
          : { kind: builtIn('clusterroles'), namespace: '', name: text(name) }
      return objects.has(role) ? list(objects.get(role).rules).map(object) : []
    }),
  ]
}

/**
 * Whether a user may do something. Members of system:masters may do everything, other users only
 * what a role binding grants.
 */
const isAllowed = (objects: Objects, user: User, wish: Wish): boolean =>
  user.groups.includes('system:masters') ||
  rulesOf(objects, user, wish.namespace).some((rule) => grants(rule, wish))

/** Throws a `Refusal` if the user may not do something. */
export const authorize = (objects: Objects, user: User, wish: Wish): void => {
  if (isAllowed(objects, user, wish)) return
  const { verb, group, resource, namespace, path } = wish
  if (resource === '')
    throw new Refusal(
      403,
      'Forbidden',
      `forbidden: User "${user.name}" cannot ${verb} path "${path}"`,
    )
  const where = namespace === '' ? ' at the cluster scope' : ` in the namespace "${namespace}"`
  const what = group === '' ? resource : `${resource}.${group}`
  throw new Refusal(
    403,
    'Forbidden',
    `${what} is forbidden: User "${user.name}" cannot ${verb} resource "${resource}" in API group "${group}"${where}`,
  )
}

const isBound = (binding: Body, user: User): boolean =>
  list(binding.subjects)
    .map(object)
    .some(
      (subject) =>
        (subject.kind === 'Group' && user.groups.includes(text(subject.name))) ||
        (subject.kind === 'User' && subject.name === user.name),
    )

const grants = (rule: Body, { verb, group, resource, path }: Wish): boolean => {
  const has = (values: unknown, wanted: string): boolean =>
    list(values).some((value) => value === '*' || value === wanted)
  if (resource === '')
    return (
      has(rule.verbs, verb) &&
      list(rule.nonResourceURLs).some(
        (url) =>
          url === '*' ||
          url === path ||
          (text(url).endsWith('*') && path.startsWith(text(url).slice(0, -1))),
      )
    )
  return has(rule.verbs, verb) && has(rule.apiGroups, group) && has(rule.resources, resource)
}

/**
 * Review kinds, which are answered rather than stored: who the caller is, and what the caller may
 * do. Every authenticated user may request them.
 */
export const REVIEWS = [
  {
    group: 'authentication.k8s.io',
    version: 'v1',
    plural: 'selfsubjectreviews',
    kind: 'SelfSubjectReview',
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectaccessreviews',
    kind: 'SelfSubjectAccessReview',
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectrulesreviews',
    kind: 'SelfSubjectRulesReview',
  },
] as const

export type ReviewKind = (typeof REVIEWS)[number]['kind']

/** The review kind of a path. */
export const reviewAt = (path: string): ReviewKind | null =>
  REVIEWS.find(({ group, version, plural }) => path === `/apis/${group}/${version}/${plural}`)
    ?.kind ?? null

/** Answers a review. Throws a `Refusal` for an empty one. */
export const review = (objects: Objects, user: User, kind: ReviewKind, asked: Body): object => {
  const spec = object(asked.spec)
  const whole = (status: object): object => ({
    ...asked,
    kind,
    metadata: { creationTimestamp: null },
    status,
  })
  if (kind === 'SelfSubjectReview')
    return whole({ userInfo: { username: user.name, groups: user.groups } })
  if (kind === 'SelfSubjectRulesReview') {
    const rules = rulesOf(objects, user, text(spec.namespace))
    return whole({
      resourceRules: rules.filter(({ resources }) => resources !== undefined),
      nonResourceRules: rules.filter(({ nonResourceURLs }) => nonResourceURLs !== undefined),
      incomplete: false,
    })
  }
  const { resourceAttributes, nonResourceAttributes } = spec
  if (isObject(resourceAttributes)) {
    const { verb, group, resource, subresource, namespace } = resourceAttributes
    const name = [text(resource), text(subresource)].filter((part) => part !== '').join('/')
    return whole({
      allowed: isAllowed(objects, user, {
        verb: text(verb),
        group: text(group),
        resource: name,
        namespace: text(namespace),
        path: '',
      }),
    })
  }
  if (!isObject(nonResourceAttributes))
    throw badRequest('exactly one of nonResourceAttributes or resourceAttributes must be specified')
  const { verb, path } = nonResourceAttributes
  return whole({
    allowed: isAllowed(objects, user, {
      verb: text(verb),
      group: '',
      resource: '',
      namespace: '',
      path: text(path),
    }),
  })
}
