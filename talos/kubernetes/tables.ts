/**
 * What each minor of Kubernetes knows: feature gates and versions of APIs. `tables.json` is printed
 * from Kubernetes's published source by `conformance/kubernetes-tables`. The gates are those of
 * kube-apiserver, kube-controller-manager, kube-scheduler and kubelet together, because all four
 * register nearly the same ones.
 */
import printed from './tables.json' with { type: 'json' }

/** What a minor knows more or less than the one before it. */
interface Row {
  /** The release that was read. */
  readonly source: string
  readonly gates: readonly string[]
  readonly removedGates: readonly string[]
  /** Gates that take only this value from this minor on. */
  readonly locked: Readonly<Record<string, boolean>>
  readonly apis: readonly string[]
  readonly removedApis: readonly string[]
}

export interface Known {
  /** Feature gates with their only value, or null if they take both. */
  readonly gates: ReadonlyMap<string, boolean | null>
  /** Registered versions of APIs, such as `batch/v1`. */
  readonly apis: ReadonlySet<string>
}

const tables = new Map<number, Known>()
let last: Known = { gates: new Map(), apis: new Set() }
for (const [minor, row] of Object.entries<Row>(printed)) {
  const removed = new Set([...row.removedGates, ...row.removedApis])
  last = {
    gates: new Map(
      [
        ...last.gates,
        ...row.gates.map((gate) => [gate, null] as const),
        ...Object.entries(row.locked),
      ].filter(([gate]) => !removed.has(gate)),
    ),
    apis: new Set([...last.apis, ...row.apis].filter((api) => !removed.has(api))),
  }
  tables.set(Number(minor), last)
}

/** The oldest minor with a table: 32 for 1.32. */
export const oldestTable = Math.min(...tables.keys())

/** What a minor knows; undefined if it has no table. */
export const knownIn = (minor: number): Known | undefined => tables.get(minor)

/** The last minor that knew a feature gate or a version of an API, or undefined. */
export const lastWith = (name: string): number | undefined =>
  [...tables].findLast(([, { gates, apis }]) => gates.has(name) || apis.has(name))?.[0]
