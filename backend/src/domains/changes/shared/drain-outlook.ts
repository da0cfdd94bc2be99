/**
 * Warnings of a plan about its drains: disruption budgets that block them, and pods that no
 * controller creates again.
 */
import type { Check } from '#contract/clusters/clusters.ts'
import { counted } from '#contract/words.ts'
import { isForNow } from '../../../for-now.ts'
import { isRecord, KubernetesError, printable } from '../../../kubernetes/answers.ts'
import { listed } from '../../../sentences.ts'
import { type ChangeView, kubernetes, type PlannedGroup } from '../frame.ts'
import { check, forNowIf } from '../../control-planes/api.ts'
import { type DrainablePod, podsToDrain } from './drain.ts'

const mostBudgets = 1_000
/** How many servers are asked for at once. */
const atOnce = 8

export interface Budget {
  readonly namespace: string
  readonly name: string
  readonly allows: number
  /** Number of pods that it wants healthy, and of those that it counts. */
  readonly wanted: number
  readonly expected: number
  readonly selects: (labels: DrainablePod['labels']) => boolean
}

export type Pod = DrainablePod & { readonly node: string }

/**
 * A label selector (Kubernetes, "Labels and Selectors"). One without conditions selects every pod,
 * a missing one none (policy/v1).
 */
export function selecting(selector: unknown): Budget['selects'] {
  if (!isRecord(selector)) return () => false
  const labels = Object.entries(isRecord(selector['matchLabels']) ? selector['matchLabels'] : {})
  const rules = Array.isArray(selector['matchExpressions'])
    ? (selector['matchExpressions'] as unknown[]).filter(isRecord)
    : []
  const holds = (
    has: DrainablePod['labels'],
    { key, operator, values }: Record<string, unknown>,
  ): boolean => {
    const value = has[String(key)]
    const isNamed = Array.isArray(values) && (values as unknown[]).includes(value)
    if (operator === 'Exists') return value !== undefined
    if (operator === 'DoesNotExist') return value === undefined
    return operator === 'NotIn' ? !isNamed : isNamed
  }
  return (has) =>
    labels.every(([key, value]) => has[key] === value) && rules.every((rule) => holds(has, rule))
}

function budgetOf(object: unknown): Budget | undefined {
  const { metadata, spec, status } = isRecord(object) ? object : {}
  if (
    !isRecord(metadata) ||
    typeof metadata['name'] !== 'string' ||
    typeof metadata['namespace'] !== 'string'
  )
    return undefined
  const number = (key: string): number =>
    isRecord(status) && typeof status[key] === 'number' ? status[key] : 0
  return {
    namespace: metadata['namespace'],
    name: metadata['name'],
    allows: number('disruptionsAllowed'),
    wanted: number('desiredHealthy'),
    expected: number('expectedPods'),
    selects: selecting(isRecord(spec) ? spec['selector'] : undefined),
  }
}

const podName = ({ namespace, name }: DrainablePod): string => printable(`${namespace}/${name}`)

const keeps = (budget: Budget, { isEnding, namespace, labels }: Pod): boolean =>
  !isEnding && namespace === budget.namespace && budget.selects(labels)
const otherwise = (nodes: readonly string[]): string =>
  `Otherwise the drain of ${listed([...new Set(nodes)])} waits, and the change stops there after 20 minutes`

/**
 * Pods that several budgets select, which Kubernetes never evicts (`pkg/registry/core/pod/storage/
 * eviction.go`), one sentence for each set of budgets.
 */
export function aboutSeveral(budgets: readonly Budget[], pods: readonly Pod[]): string[] {
  const chosen = pods.flatMap((pod) => {
    const own = budgets.filter((budget) => keeps(budget, pod)).map(({ name }) => name)
    const title = printable(`${listed(own.toSorted())} of ${pod.namespace}`)
    return own.length > 1 ? [{ pod, title }] : []
  })
  return [...Map.groupBy(chosen, ({ title }) => title)].map(([title, all]) => {
    const names = listed(
      all.map(({ pod }) => podName(pod)),
      6,
    )
    return `Kubernetes moves no pod that several disruption budgets select: ${title} select ${names}. Let each pod have one budget first. ${otherwise(all.map(({ pod }) => pod.node))}`
  })
}

/** A budget that allows no eviction now, with the pods that it keeps on servers of the plan. */
function aboutBudget(budget: Budget, pods: readonly Pod[]): string[] {
  const kept = pods.filter((p) => keeps(budget, p))
  if (budget.allows > 0 || kept.length === 0) return []
  const title = printable(`${budget.namespace}/${budget.name}`)
  const why =
    budget.wanted >= budget.expected
      ? `never allows one of its ${counted(budget.expected, 'pod')} to be moved: change the budget first`
      : 'allows no pod to be moved at the moment: see that its pods become healthy'
  return [`The disruption budget ${title} ${why}. ${otherwise(kept.map((p) => p.node))}`]
}

async function podsOn(view: ChangeView, nodes: readonly string[]): Promise<Pod[]> {
  const pods: Pod[] = []
  for (let from = 0; from < nodes.length; from += atOnce) {
    const some = nodes
      .slice(from, from + atOnce)
      .map(async (node) =>
        (await podsToDrain(view, node, view.signal)).map((pod) => ({ ...pod, node })),
      )
    pods.push(...(await Promise.all(some)).flat())
  }
  return pods
}

/**
 * Warnings about the servers that the plan drains. A failed check if the Kubernetes API, through
 * which pods are moved, does not answer.
 */
export async function drainOutlook(
  view: ChangeView,
  groups: readonly PlannedGroup[],
): Promise<{ checks: Check[]; warnings: string[] }> {
  const drained = groups.flatMap((g) => (g.drains === true && g.name !== null ? [g.name] : []))
  if (drained.length === 0) return { checks: [], warnings: [] }
  try {
    const pods = await podsOn(view, drained)
    const budgets =
      (await (
        await kubernetes(view)
      ).list(
        '/apis/policy/v1/poddisruptionbudgets',
        { most: mostBudgets, keep: budgetOf },
        view.signal,
      )) ?? []
    const bare = pods.filter((p) => p.isBare && !p.isEnding)
    return {
      checks: [],
      warnings: [
        ...aboutSeveral(budgets, pods),
        ...budgets.flatMap((budget) => aboutBudget(budget, pods)),
        ...(bare.length === 0
          ? []
          : [
              `Nothing creates these pods again after they are moved off: ${listed(
                bare.map((p) => `${podName(p)} on ${p.node}`),
                6,
              )}`,
            ]),
      ],
    }
  } catch (error) {
    if (view.signal.aborted || !(error instanceof KubernetesError)) throw error
    return {
      checks: [
        forNowIf(
          isForNow(error),
          check(
            'workload',
            false,
            `No workload can be moved, because the Kubernetes API does not answer as expected: ${error.message}`,
          ),
        ),
      ],
      warnings: [],
    }
  }
}
