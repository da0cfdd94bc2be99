/** Tests of servers by the targets of shared patches. A selector is compiled once. */
import { type Labels, selectorOf } from '#contract/labels/selector.ts'
import type { Targets } from '#contract/shared-patches/shared-patches.ts'
import type { TargetServer } from './targets.ts'

type Test = (labels: Labels) => boolean

/**
 * Most conditions of selectors that are kept compiled: those of all patches, 100 of each. Patches
 * that were saved before that limit may have more, and are compiled again.
 */
const mostConditions = 20_000
const compiled = new Map<string, { readonly test: Test; readonly conditions: number }>()
let conditionsKept = 0

/** A condition on a label: one look at the label, and one at the set of values. */
function conditionTest({
  key,
  values,
  not,
}: NonNullable<ReturnType<typeof selectorOf>>[number]): Test {
  const wanted = values === null ? null : new Set(values)
  // Keys such as `constructor` are names of inherited properties, none of which is a string.
  return (labels) => {
    const value: unknown = labels[key]
    return (typeof value === 'string' && (wanted?.has(value) ?? true)) !== not
  }
}

/** The test of a selector; undefined if the text is none. */
function testOf(text: string): Test | undefined {
  const known = compiled.get(text)
  if (known) return known.test
  const selector = selectorOf(text)
  if (selector === null) return undefined
  const tests = selector.map(conditionTest)
  const test: Test = (labels) => tests.every((passes) => passes(labels))
  compiled.set(text, { test, conditions: tests.length })
  conditionsKept += tests.length
  for (const [oldest, { conditions }] of compiled) {
    if (conditionsKept <= mostConditions) break
    compiled.delete(oldest)
    conditionsKept -= conditions
  }
  return test
}

/** A test of servers. */
export function isTargetOf(targets: Targets): (server: TargetServer) => boolean {
  const { cluster_ids, roles, node_ids } = targets
  const tests = targets.labels.flatMap((text) => testOf(text) ?? [])
  const isAny = targets.labels.length + cluster_ids.length + roles.length + node_ids.length > 0
  const [clusters, nodes] = [new Set(cluster_ids), new Set(node_ids)]
  return ({ id, labels, cluster_id, role }) =>
    isAny &&
    (nodes.size === 0 || nodes.has(id)) &&
    (clusters.size === 0 || (cluster_id !== null && clusters.has(cluster_id))) &&
    (roles.length === 0 || (cluster_id !== null && roles.some((one) => one === role))) &&
    (tests.length === 0 ? targets.labels.length === 0 : tests.some((passes) => passes(labels)))
}
