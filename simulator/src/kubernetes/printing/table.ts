import { object, text } from '../../config/shape.ts'
import type { Column } from './columns.ts'

type Body = Record<string, unknown>

/** Form of an answer: the objects, a table of texts, or metadata only. */
export type Form = 'objects' | 'table' | 'metadata'

/** The first supported form of an Accept header (Kubernetes: docs/reference/using-api/api-concepts, "Receiving resources as Tables"). */
export const formOf = (accept: string): Form => {
  for (const entry of accept.split(',')) {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim())
    if (type !== 'application/json' && type !== '*/*') continue
    const as = parameters.find((parameter) => parameter.startsWith('as='))?.slice(3)
    if (as === undefined) return 'objects'
    if (!parameters.includes('g=meta.k8s.io') || !parameters.includes('v=v1')) continue
    if (as === 'Table') return 'table'
    if (as.startsWith('PartialObjectMetadata')) return 'metadata'
  }
  return 'objects'
}

export const tableOf = (
  columns: readonly Column[],
  bodies: readonly Body[],
  metadata: Body,
  { include, now, withHeaders = true }: { include: string; now: number; withHeaders?: boolean },
): object => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
  columnDefinitions: withHeaders
    ? columns.map(({ name, type, priority }) => ({ name, type, format: name === 'Name' ? 'name' : '', description: name, priority }))
    : null,
  rows: bodies.map((body) => ({
    cells: columns.map(({ cell }) => cell(body, now)),
    ...(include !== 'None' && { object: include === 'Object' ? body : metadataOf(body) }),
  })),
})

export const metadataOf = ({ metadata }: Body): object => ({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata })

/** List metadata for a single object. */
export const listMetadata = (body: Body): Body => ({ resourceVersion: text(object(body.metadata).resourceVersion) })
