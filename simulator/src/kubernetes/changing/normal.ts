import { isObject, object, text } from '../../config/shape.ts'
import type { ResourceKind } from '../kinds.ts'
import { badRequest } from '../refusal.ts'

type Body = Record<string, unknown>

/** Removes the status of kinds whose status only controllers write. */
export const withoutStatus = (kind: ResourceKind, given: Body): Body => {
  if (!kind.hasStatus || given.status === undefined) return given
  const { status: _, ...rest } = given
  return rest
}

/** An object with Kubernetes' defaults. */
export const defaulted = ({ group, plural }: ResourceKind, name: string, body: Body): Body => {
  if (group !== '') return body
  if (plural === 'services') return { ...body, spec: { type: 'ClusterIP', ...object(body.spec) } }
  if (plural !== 'namespaces') return body
  const metadata = object(body.metadata)
  const labels = { ...object(metadata.labels), 'kubernetes.io/metadata.name': name }
  return { ...body, metadata: { ...metadata, labels }, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } }
}

/** The stored form. Secrets accept plain text and store base64. */
export const normal = (kind: ResourceKind, given: Body): Body => {
  if (kind.plural !== 'secrets' || kind.group !== '') return given
  const { stringData, ...rest } = given
  const encoded = Object.fromEntries(Object.entries(object(stringData)).map(([key, value]) => [key, Buffer.from(text(value)).toString('base64')]))
  for (const [key, value] of Object.entries(object(rest.data))) {
    if (typeof value !== 'string' || Buffer.from(value, 'base64').toString('base64').replaceAll('=', '') !== value.replaceAll(/[=\s]/g, ''))
      throw badRequest(`Secret in version "v1" cannot be handled as a Secret: illegal base64 data in data.${key}`)
  }
  return { type: 'Opaque', ...rest, ...((stringData !== undefined || isObject(rest.data)) && { data: { ...object(rest.data), ...encoded } }) }
}
