import { isObject, object, text } from '../config/shape.ts'
import { isAllowed, rulesOf, type User } from './access.ts'
import type { Objects } from './objects.ts'
import { badRequest } from './refusal.ts'

type Body = Record<string, unknown>

/** Kinds that are answered rather than stored: who the caller is, and what it may do. Every authenticated user may ask. */
export const REVIEWS = [
  { group: 'authentication.k8s.io', version: 'v1', plural: 'selfsubjectreviews', kind: 'SelfSubjectReview' },
  { group: 'authorization.k8s.io', version: 'v1', plural: 'selfsubjectaccessreviews', kind: 'SelfSubjectAccessReview' },
  { group: 'authorization.k8s.io', version: 'v1', plural: 'selfsubjectrulesreviews', kind: 'SelfSubjectRulesReview' },
] as const

export type ReviewKind = (typeof REVIEWS)[number]['kind']

/** The review kind of a path. */
export const reviewAt = (path: string): ReviewKind | null =>
  REVIEWS.find(({ group, version, plural }) => path === `/apis/${group}/${version}/${plural}`)?.kind ?? null

/** Answers a review. Throws a `Refusal` for an empty one. */
export const review = (objects: Objects, user: User, kind: ReviewKind, asked: Body): object => {
  const spec = object(asked.spec)
  const whole = (status: object): object => ({ ...asked, kind, metadata: { creationTimestamp: null }, status })
  if (kind === 'SelfSubjectReview') return whole({ userInfo: { username: user.name, groups: user.groups } })
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
    return whole({ allowed: isAllowed(objects, user, { verb: text(verb), group: text(group), resource: name, namespace: text(namespace), path: '' }) })
  }
  if (!isObject(nonResourceAttributes)) throw badRequest('exactly one of nonResourceAttributes or resourceAttributes must be specified')
  const { verb, path } = nonResourceAttributes
  return whole({ allowed: isAllowed(objects, user, { verb: text(verb), group: '', resource: '', namespace: '', path: text(path) }) })
}
