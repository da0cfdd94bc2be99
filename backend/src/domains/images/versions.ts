/**
 * Which versions are offered. The image factory lists all Talos versions; `talos/versions.ts` lists
 * those for which Steelyard can generate configurations, with their Kubernetes versions, whose patch
 * releases are looked up (`kubernetes-releases.ts`). If the factory doesn't answer, is slow or gives
 * an invalid response, its last list is used, or else the built-in one.
 */
import type { Answer, Input } from '#contract/operation.ts'
import type { OfferedTalos, Support, versionList } from '#contract/versions.ts'
import {
  kubernetesProblem,
  kubernetesSupportEnds,
  kubernetesVersions,
  minors,
  newestMinor,
  type SupportedPair,
  supportedMinor,
  type TalosMinor,
  talosSupportEnds,
} from '#talos/versions.ts'
import type { Clock } from '../../clock.ts'
import type { OfferedVersions, Unsupported } from './api.ts'
import { FactoryError } from './factory-call.ts'
import { compareVersions, type Factory, isPrerelease, ownVersions } from './factory.ts'
import type { KubernetesReleases } from './kubernetes-releases.ts'

/**
 * How long a caller waits for the factory. After that, the caller gets the last or built-in list;
 * the late response is cached for the next caller.
 */
const patienceMs = 2_000

export interface TalosVersions extends OfferedVersions {
  readonly list: (query: Input<typeof versionList>['query']) => Promise<Answer<typeof versionList>>
  /** Fetches the factory's list in advance. Never throws. */
  readonly refresh: () => Promise<void>
}

const minorText = (version: string): string =>
  version.replace(/^v/, '').split('.').slice(0, 2).join('.')

interface VersionParts {
  readonly factory: Factory
  readonly releases: Pick<KubernetesReleases, 'newest' | 'refresh'>
  readonly clock: Clock
}

export function versions({ factory, releases, clock }: VersionParts): TalosVersions {
  let last: readonly string[] | null = null

  const ask = async (): Promise<{ items: readonly string[] | null; reason: string | null }> => {
    const asked = factory.versions().then(
      ({ items, reason }) => {
        last = items
        return { items, reason }
      },
      (error: unknown) => {
        if (!(error instanceof FactoryError)) throw error
        return { items: last, reason: error.message }
      },
    )
    const late = {
      items: last,
      reason: `The image factory at ${factory.url} has not answered within ${patienceMs / 1000} s`,
    }
    const stop = new AbortController()
    const timer = clock
      .sleep(patienceMs, stop.signal)
      .catch(() => undefined)
      .then(() => late)
    try {
      return await Promise.race([asked, timer])
    } finally {
      stop.abort(new Error('The wait for the image factory has ended'))
    }
  }

  const supportOf = (ends: string | null, isOver = false): Support => ({
    ends,
    ended: isOver || (ends !== null && ends <= new Date(clock.now()).toISOString().slice(0, 10)),
  })
  /**
   * Support of a Talos minor version. Support ends as soon as the factory builds a newer minor,
   * even if the end-of-life date is later.
   */
  const talosSupport = (version: string): Support => {
    const minor = minorText(version)
    const newer = (last ?? []).some(
      (v) => !isPrerelease(v) && compareVersions(`v${minorText(v)}.0`, `v${minor}.0`) > 0,
    )
    return supportOf(talosSupportEnds(minor), newer)
  }
  const kubernetesSupport = (version: string): Support =>
    supportOf(kubernetesSupportEnds(Number(minorText(version).split('.')[1])))

  const kubernetesOf = (minor: TalosMinor): string[] => kubernetesVersions(minor, releases.newest)

  const offered = (version: string): OfferedTalos => {
    const minor = supportedMinor(version)!
    const all = kubernetesOf(minor)
    const [first, newest] = minor.kubernetesMinors
    return {
      talos_version: version,
      prerelease: isPrerelease(version),
      support: talosSupport(version),
      kubernetes_versions: all,
      kubernetes: all.map((v) => ({ version: v, support: kubernetesSupport(v) })),
      kubernetes_minors: [`1.${first}`, `1.${newest}`],
    }
  }

  /**
   * The supported versions of a list, or the built-in ones if the list has no supported release.
   */
  const supportedOf = (items: readonly string[] | null): readonly string[] => {
    const supported = (items ?? []).filter((v) => supportedMinor(v) !== undefined)
    return supported.some((v) => !isPrerelease(v)) ? supported : ownVersions
  }

  const notices = (items: readonly string[] | null): string[] => {
    const forNew = minors.filter((m) => m.notForNew === undefined)
    const own = forNew.map((m) => m.minor).join(' and ')
    const later = items?.find(
      (v) => !isPrerelease(v) && compareVersions(v, `v${minors.at(-1)!.minor}.9999`) > 0,
    )
    const known = newestMinor().minor
    const newest = later ?? (minors.some((m) => m.minor === known) ? null : `v${known}`)
    const ended = forNew
      .filter((m) => talosSupport(m.version).ended)
      .map(
        (m) =>
          `${m.minor}${talosSupportEnds(m.minor) === null ? '' : ` on ${talosSupportEnds(m.minor)}`}`,
      )
    return [
      ...(newest === null
        ? []
        : [`Talos ${newest} is out. This version of Steelyard makes clusters of Talos ${own}.`]),
      ...(ended.length === 0
        ? []
        : [`The community's support of Talos ended: ${ended.join(', ')}.`]),
      ...minors.flatMap((m) => (m.notForNew === undefined ? [] : [`${m.notForNew}.`])),
    ]
  }

  const pairs = (): SupportedPair[] => {
    const stable = supportedOf(last).filter((v) => !isPrerelease(v))
    const newest = minors.flatMap((m) => stable.find((v) => supportedMinor(v) === m) ?? [])
    return newest
      .toReversed()
      .map((talos) => ({ talos, kubernetes: kubernetesOf(supportedMinor(talos)!)[0]! }))
  }
  const whyNotNew = (talos: string): string | undefined => supportedMinor(talos)?.notForNew

  const unsupported = (talos: string, kubernetes: string): Unsupported[] => {
    const said = (of: Unsupported['of'], what: string, { ends, ended }: Support): Unsupported[] => {
      const since = ends === null ? 'is out of support' : `has been out of support since ${ends}`
      return ended
        ? [{ of, sentence: `${what} ${since}: it gets no fixes any more.`, since: ends }]
        : []
    }
    if (supportedMinor(talos) === undefined) return []
    return [
      ...said('talos', `Talos ${minorText(talos)}`, talosSupport(talos)),
      ...said('kubernetes', `Kubernetes ${minorText(kubernetes)}`, kubernetesSupport(kubernetes)),
    ]
  }

  return {
    async list({ prereleases }) {
      const [{ items, reason }] = await Promise.all([ask(), releases.refresh(patienceMs)])
      const shown = supportedOf(items).filter(
        (v) => whyNotNew(v) === undefined && (prereleases === 'true' || !isPrerelease(v)),
      )
      return {
        items: shown.map(offered),
        source: shown.some((v) => items?.includes(v)) ? 'factory' : 'shipped',
        reason,
        notices: notices(items),
      }
    },
    pairs,
    pairsForNew: () => pairs().filter(({ talos }) => whyNotNew(talos) === undefined),
    kubernetes: (talos) => {
      const minor = supportedMinor(talos)
      return minor === undefined ? [] : kubernetesOf(minor)
    },
    problem: (talos, kubernetes) =>
      kubernetesProblem(talos, kubernetes) ??
      (last !== null && supportedOf(last) !== ownVersions && !last.includes(talos)
        ? `The image factory does not build Talos ${talos}`
        : undefined),
    unsupported,
    warnings: (talos, kubernetes) => unsupported(talos, kubernetes).map(({ sentence }) => sentence),
    refresh: async () =>
      void (await Promise.all([ask().catch(() => undefined), releases.refresh(patienceMs)])),
  }
}
