/**
 * The newest patch release of each Kubernetes minor, from Kubernetes' own list: one short text for
 * each minor, `stable-1.36.txt`. Without an answer the shipped versions stay in use. A release is
 * offered some days after it is out, because the kubelet's image, which Talos's makers build, comes
 * later (siderolabs/talos#13835): a cluster of that version would never be ready.
 */
import * as z from 'zod/mini'
import { minors } from '#talos/versions.ts'
import type { Platform } from '../../platform.ts'
import { type CallLimits, factoryCalls, FactoryError } from './factory-call.ts'

/** Patch releases come about every month. */
const keepMs = 6 * 3_600_000
/** Pause after a call that got no answer. */
const againMs = 15 * 60_000
const mostBytes = 64
/** So long after a release its kubelet's image is expected to exist, in ms. */
const settlesMs = 7 * 24 * 3_600_000

const limits: CallLimits = {
  callMs: 5_000,
  overallMs: 5_000,
  tries: 1,
  pauseMs: 250,
  atOnce: 16,
}

interface ReleaseParts extends Pick<Platform, 'clock' | 'log' | 'read'> {
  /** Without a trailing slash. Empty: nothing is looked up. */
  readonly url: string
}

export type KubernetesReleases = ReturnType<typeof kubernetesReleases>

/** The minors that the supported Talos versions run: 36 for 1.36. */
const known = [
  ...new Set(
    minors.flatMap(({ kubernetesMinors: [first, last] }) =>
      Array.from({ length: last - first + 1 }, (_, i) => first + i),
    ),
  ),
]

const Release = z.string().check(z.regex(/^v1\.\d{1,3}\.\d{1,3}\s*$/))

export function kubernetesReleases({ clock, log, read, url }: ReleaseParts) {
  const call = factoryCalls(read, url, limits, 'The list of Kubernetes releases')
  const found = new Map<number, string>()
  let dueAt = -Infinity
  let running: Promise<void> | undefined

  const askOne = async (minor: number): Promise<void> => {
    const path = `/stable-1.${minor}.txt`
    const { json, modifiedMs } = await call({ path, status: 200, mostBytes, isText: true })
    const text = z.safeParse(Release, json)
    const version = text.success ? text.data.trim().slice(1) : ''
    if (!version.startsWith(`1.${minor}.`))
      throw new FactoryError('unreachable', `${url}${path} does not name a release of 1.${minor}`)
    // The text is written with each release.
    if (modifiedMs === null || clock.now() - modifiedMs >= settlesMs) found.set(minor, version)
  }

  const askAll = async (): Promise<void> => {
    const asked = await Promise.allSettled(known.map(askOne))
    const failed = asked.find((one) => one.status === 'rejected')
    if (failed && !(failed.reason instanceof FactoryError)) throw failed.reason
    dueAt = clock.now() + (failed ? againMs : keepMs)
    if (failed) log.warn('kubernetes_releases.failed', { reason: messageOf(failed.reason) })
    running = undefined
  }
  const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

  return {
    /** `1.36.5`; undefined if none is known that has been out for some days. */
    newest: (minor: number): string | undefined => found.get(minor),
    /** Looks the releases up if they are old. Waits `mostMs` at most, and never throws. */
    async refresh(mostMs: number): Promise<void> {
      if (url === '' || clock.now() < dueAt) return
      const stop = new AbortController()
      const late = clock.sleep(mostMs, stop.signal).catch(() => undefined)
      running ??= askAll()
      try {
        await Promise.race([running, late])
      } finally {
        stop.abort(new Error('The wait for the list of Kubernetes releases has ended'))
      }
    },
  }
}
