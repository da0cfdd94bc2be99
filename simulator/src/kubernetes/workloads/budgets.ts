import { type Body, list, object, text } from '../../config/shape.ts'
import { builtIn } from '../kinds.ts'
import type { Objects } from '../objects.ts'
import type { Target } from '../kinds.ts'
import { Refusal } from '../refusal.ts'
import {
  controllerOf,
  isReady,
  isTerminating,
  labelsOf,
  namespaceOf,
  nameOf,
  nodeNameOf,
  PODS,
  selects,
  targetOf,
  terminate,
} from './pods.ts'

const BUDGETS = builtIn('poddisruptionbudgets')

/**
 * A percentage or a number of a total, rounded up as the disruption controller does (Kubernetes:
 * pkg/controller/disruption).
 */
const share = (value: unknown, total: number): number =>
  typeof value === 'string' && value.endsWith('%')
    ? Math.ceil((Number(value.slice(0, -1)) / 100) * total)
    : Number(value)

/** Number of replicas that the owners of the selected pods want. */
const expectedOf = (objects: Objects, chosen: readonly Body[]): number => {
  const owners = new Map<string, number>()
  for (const pod of chosen) {
    const owner = controllerOf(pod)
    const kind =
      owner && ['ReplicaSet', 'StatefulSet'].includes(text(owner.kind))
        ? builtIn(`${text(owner.kind).toLowerCase()}s`)
        : null
    const target = kind && { kind, namespace: namespaceOf(pod), name: text(owner!.name) }
    if (target && objects.has(target))
      owners.set(text(owner!.uid), Number(object(objects.get(target).spec).replicas ?? 1))
    else owners.set(nameOf(pod), 1)
  }
  return [...owners.values()].reduce((sum, count) => sum + count, 0)
}

export const budgetNames = (objects: Objects): string[] =>
  objects.list(BUDGETS, '').map((budget) => `${namespaceOf(budget)}/${nameOf(budget)}`)

/** The current state of a budget. */
const stateOf = (objects: Objects, budget: Body, pods: readonly Body[]) => {
  const { selector, minAvailable, maxUnavailable } = object(budget.spec)
  const isChosen = selects(selector)
  const chosen = pods.filter(
    (pod) => namespaceOf(pod) === namespaceOf(budget) && isChosen(labelsOf(pod)),
  )
  const expectedPods = expectedOf(objects, chosen)
  const currentHealthy = chosen.filter((pod) => isReady(pod) && !isTerminating(pod)).length
  const desiredHealthy =
    maxUnavailable === undefined
      ? share(minAvailable ?? 1, expectedPods)
      : Math.max(0, expectedPods - share(maxUnavailable, expectedPods))
  return {
    expectedPods,
    currentHealthy,
    desiredHealthy,
    disruptionsAllowed: Math.max(0, currentHealthy - desiredHealthy),
  }
}

/**
 * Writes the status of every budget, and returns the names of those with fewer healthy pods than
 * they require.
 */
export const observeBudgets = (objects: Objects, pods: readonly Body[]): string[] =>
  objects.list(BUDGETS, '').flatMap((budget) => {
    const state = stateOf(objects, budget, pods)
    const isAllowed = state.disruptionsAllowed > 0
    const condition = {
      type: 'DisruptionAllowed',
      status: isAllowed ? 'True' : 'False',
      reason: isAllowed ? 'SufficientPods' : 'InsufficientPods',
      message: '',
    }
    const status = {
      observedGeneration: object(budget.metadata).generation ?? 1,
      ...state,
      conditions: [condition],
    }
    objects.updateStatus(targetOf(BUDGETS, budget), status, 'kube-controller-manager')
    return state.expectedPods > 0 && state.currentHealthy < state.desiredHealthy
      ? [`${namespaceOf(budget)}/${nameOf(budget)}`]
      : []
  })

const tooMany = (
  budget: string,
  { currentHealthy, desiredHealthy }: { currentHealthy: number; desiredHealthy: number },
): Refusal =>
  new Refusal(
    429,
    'TooManyRequests',
    "Cannot evict pod as it would violate the pod's disruption budget.",
    {
      causes: [
        {
          reason: 'DisruptionBudget',
          message: `The disruption budget ${budget} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
        },
      ],
    },
  )

/**
 * Evicts a pod, or throws the `Refusal` of its budget (Kubernetes:
 * pkg/registry/core/pod/storage/eviction.go). Pods that don't run yet, and unhealthy pods of a
 * healthy budget, are evicted without one.
 */
export const evict = (objects: Objects, target: Target, now: number, dryRun: boolean): void => {
  const pod = objects.get(target)
  const pods = objects.list(PODS, target.namespace)
  const budgets = objects
    .list(BUDGETS, target.namespace)
    .filter((budget) => selects(object(budget.spec).selector)(labelsOf(pod)))
  const isRunning =
    nodeNameOf(pod) !== '' && object(pod.status).phase === 'Running' && !isTerminating(pod)
  if (isRunning && budgets.length > 1)
    throw new Refusal(
      500,
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    )
  const [budget] = budgets
  if (isRunning && budget) {
    const state = stateOf(objects, budget, pods)
    const { unhealthyPodEvictionPolicy } = object(budget.spec)
    const isHarmless =
      !isReady(pod) &&
      (unhealthyPodEvictionPolicy === 'AlwaysAllow' ||
        (state.currentHealthy >= state.desiredHealthy && state.desiredHealthy > 0))
    if (!isHarmless && state.disruptionsAllowed === 0) throw tooMany(nameOf(budget), state)
  }
  if (!dryRun) terminate(objects, pod, now)
}

/** Deletes a pod as its kubelet would, or at once without a grace period. */
export const deletePod = (objects: Objects, target: Target, options: Body, now: number): Body => {
  const pod = objects.get(target)
  if (options.gracePeriodSeconds === 0) return objects.remove(target)
  terminate(objects, pod, now)
  return pod
}

/**
 * Whether an object is governed by a list of taints and tolerations: the taints that it doesn't
 * tolerate (Kubernetes: component-helpers, scheduling/corev1).
 */
export const untolerated = (taints: unknown, tolerations: unknown): Body[] =>
  list(taints)
    .map(object)
    .filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute')
    .filter(
      (taint) =>
        !list(tolerations)
          .map(object)
          .some(
            ({ key, operator, value, effect }) =>
              (effect === undefined || effect === '' || effect === taint.effect) &&
              (key === undefined || key === ''
                ? operator === 'Exists'
                : key === taint.key &&
                  (operator === 'Exists' || text(value) === text(taint.value))),
          ),
    )
