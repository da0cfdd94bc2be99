/**
 * Deprecated APIs that programs still call. Each API server has a metric of the deprecated APIs
 * that were called since it started, `apiserver_requested_deprecated_apis`, with the release that
 * no longer serves them (Kubernetes, "API deprecation guide").
 */
import type { Check } from '#contract/clusters/clusters.ts'
import { printable, within } from '../../../kubernetes/answers.ts'
import { check, controlPlanesOf, factsOf, kubernetesOf } from '../../control-planes/api.ts'
import { listed } from '../../../sentences.ts'
import { type ChangeView } from '../frame.ts'

const metric = 'apiserver_requested_deprecated_apis'
const deadlineMs = 15_000

/** `flowschemas` of `flowcontrol.apiserver.k8s.io/v1beta3`, no longer served since minor 32. */
export interface DeprecatedApi {
  readonly api: string
  readonly removedIn: number | null
}

/** Reads one line of the metric; undefined for another line and for a count of 0. */
export function readDeprecated(line: string): DeprecatedApi | undefined {
  const start = `${metric}{`
  const end = line.lastIndexOf('} ')
  if (!line.startsWith(start) || end < start.length || Number(line.slice(end + 2)) === 0)
    return undefined
  const pairs = line.slice(start.length, end).split('",')
  const labels = new Map(
    pairs.map((pair) => {
      const [key = '', value = ''] = pair.split('="')
      return [key, printable(value.replace(/"$/, '')).slice(0, 253)]
    }),
  )
  const [group, version, resource] = ['group', 'version', 'resource'].map(
    (key) => labels.get(key) ?? '',
  )
  const removed = /^1\.(\d{1,3})$/.exec(labels.get('removed_release') ?? '')
  return {
    api: `${resource} of ${group ? `${group}/` : ''}${version}`,
    removedIn: removed ? Number(removed[1]) : null,
  }
}

/** Reads the metric of every API server. @throws KubernetesError */
async function deprecatedApis({
  parts,
  state,
  signal,
}: Pick<ChangeView, 'parts' | 'state' | 'signal'>): Promise<DeprecatedApi[]> {
  const api = await kubernetesOf(parts, state)
  const targets = await factsOf(parts, parts.db, controlPlanesOf(state.members))
  const found = await Promise.all(
    targets.map((target) =>
      within(signal, deadlineMs, (limited) => api.metric(target, metric, limited)),
    ),
  )
  const all = found.flat().flatMap((line) => readDeprecated(line) ?? [])
  return [...new Map(all.map((one) => [one.api, one])).values()].toSorted((a, b) =>
    a.api < b.api ? -1 : 1,
  )
}

/**
 * Checks that no program calls an API that the new minor no longer serves. `accepted`: the user
 * accepts that these calls fail.
 */
export async function checkApis(
  view: ChangeView,
  minor: number,
  accepted: boolean,
): Promise<{ checks: Check[]; warnings: string[] }> {
  const used = await deprecatedApis(view)
  const gone = used.filter(({ removedIn }) => removedIn !== null && removedIn <= minor)
  const later = used.filter((one) => one.removedIn !== null && !gone.includes(one))
  const name = (some: readonly DeprecatedApi[]) =>
    listed(
      some.map((one) => one.api),
      6,
    )
  const warnings =
    later.length === 0
      ? []
      : [
          `Programs use APIs that a later Kubernetes no longer serves: ${later.map((one) => `${one.api} (until 1.${one.removedIn! - 1})`).join(', ')}`,
        ]
  if (gone.length === 0)
    return {
      checks: [
        check('apis', true, `No program uses an API that Kubernetes 1.${minor} no longer serves`),
      ],
      warnings,
    }
  const sentence = `Programs of the cluster use APIs that Kubernetes 1.${minor} no longer serves: ${name(gone)}`
  return accepted
    ? {
        checks: [check('apis', true, 'Calls of removed APIs are accepted')],
        warnings: [sentence, ...warnings],
      }
    : {
        checks: [
          check(
            'apis',
            false,
            `${sentence}. Update these programs first, or accept that their calls fail`,
          ),
        ],
        warnings,
      }
}
