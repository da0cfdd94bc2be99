import { createHash } from 'node:crypto'
import { type Body, list, object, text } from '../../config/shape.ts'
import { apiVersionOf, builtIn, type ResourceKind } from '../kinds.ts'
import type { Objects } from '../objects.ts'
import type { Target } from '../kinds.ts'

export const PODS = builtIn('pods')

export const nameOf = ({ metadata }: Body): string => text(object(metadata).name)
export const namespaceOf = ({ metadata }: Body): string => text(object(metadata).namespace)
export const uidOf = ({ metadata }: Body): string => text(object(metadata).uid)
export const labelsOf = ({ metadata }: Body): Body => object(object(metadata).labels)
export const podTarget = (pod: Body): Target => ({
  kind: PODS,
  namespace: namespaceOf(pod),
  name: nameOf(pod),
})
export const targetOf = (kind: ResourceKind, body: Body): Target => ({
  kind,
  namespace: kind.namespaced ? namespaceOf(body) : '',
  name: nameOf(body),
})
export const nodeNameOf = (pod: Body): string => text(object(pod.spec).nodeName)
export const isTerminating = ({ metadata }: Body): boolean =>
  object(metadata).deletionTimestamp !== undefined

/** The condition `Ready`. */
export const isReady = ({ status }: Body): boolean =>
  list(object(status).conditions)
    .map(object)
    .some((condition) => condition.type === 'Ready' && condition.status === 'True')

/** The owner whose controller manages an object. */
export const controllerOf = ({ metadata }: Body): Body | undefined =>
  list(object(metadata).ownerReferences)
    .map(object)
    .find(({ controller }) => controller === true)

/**
 * A predicate for a label selector. An empty selector matches everything (Kubernetes: apimachinery,
 * meta/v1, LabelSelector).
 */
export const selects = (selector: unknown): ((labels: Body) => boolean) => {
  const { matchLabels, matchExpressions } = object(selector)
  const wanted = Object.entries(object(matchLabels))
  const expressions = list(matchExpressions).map(object)
  return (labels) =>
    wanted.every(([key, value]) => labels[key] === value) &&
    expressions.every(({ key, operator, values }) => {
      const value = labels[text(key)]
      if (operator === 'Exists') return value !== undefined
      if (operator === 'DoesNotExist') return value === undefined
      return (value !== undefined && list(values).includes(value)) === (operator === 'In')
    })
}

/** A short text that differs between templates, as in the label `pod-template-hash`. */
export const hashOf = (template: unknown): string =>
  createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 10)

/**
 * Creates a pod from the template of its owner. A name that ends with a hyphen gets a random
 * suffix.
 */
export const createPod = (
  objects: Objects,
  kind: ResourceKind,
  owner: Body,
  name: string,
  labels: Body,
  spec: Body = {},
): void => {
  const template = object(object(owner.spec).template)
  const { name: ownerName, uid, namespace } = object(owner.metadata)
  objects.create(
    PODS,
    text(namespace),
    {
      metadata: {
        ...(name.endsWith('-') ? { generateName: name } : { name }),
        labels: { ...object(object(template.metadata).labels), ...labels },
        ...(object(template.metadata).annotations !== undefined && {
          annotations: object(template.metadata).annotations,
        }),
        ownerReferences: [
          {
            apiVersion: apiVersionOf(kind),
            kind: kind.kind,
            name: ownerName,
            uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { ...object(template.spec), ...spec },
    },
    'kube-controller-manager',
  )
}

/**
 * Marks a pod for deletion. Its node's kubelet stops it, and then the pod is removed. A pod without
 * a node is removed at once.
 */
export const terminate = (objects: Objects, pod: Body, now: number): void => {
  if (isTerminating(pod)) return
  if (nodeNameOf(pod) === '') return void objects.remove(podTarget(pod))
  const seconds = Number(object(pod.spec).terminationGracePeriodSeconds ?? 30)
  const deletionTimestamp = new Date(now + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
  objects.setMetadata(podTarget(pod), { deletionTimestamp, deletionGracePeriodSeconds: seconds })
}
