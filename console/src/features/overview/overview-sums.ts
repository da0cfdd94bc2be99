import type { Overview } from '#contract/overview.ts'
import type { Segment } from '../../ui/pictures/Meter.tsx'
import { marked } from '../../ui/feedback/finding-tones.ts'
import type { Tone } from '../../ui/feedback/tone.ts'

type Site = Overview['capacity'][number]
const measures = ['compute_units', 'vcpu', 'memory_bytes', 'disk_bytes'] as const

/**
 * Capacity of all datacenters, and the number of servers left out because their hardware is
 * unknown.
 */
export function sums(
  sites: readonly Site[],
): Pick<Site, (typeof measures)[number]> & { unknown: number } {
  const add = (measure: (typeof measures)[number]) =>
    sites.reduce(
      (sum, s) => ({
        total: sum.total + s[measure].total,
        in_clusters: sum.in_clusters + s[measure].in_clusters,
        free: sum.free + s[measure].free,
      }),
      { total: 0, in_clusters: 0, free: 0 },
    )
  return {
    compute_units: add('compute_units'),
    vcpu: add('vcpu'),
    memory_bytes: add('memory_bytes'),
    disk_bytes: add('disk_bytes'),
    unknown: sites.reduce((n, s) => n + s.unknown_servers, 0),
  }
}

const usual: Readonly<Record<string, Tone>> = { Ready: 'ok', Maintenance: 'idle' }
const segments: Readonly<Partial<Record<Tone, Segment['tone']>>> = {
  ok: 'ok',
  idle: 'info',
  busy: 'accent',
  warn: 'warn',
  danger: 'danger',
}

/**
 * How many servers or clusters each word is said of, the worst first, as the parts of a bar. What
 * only needs attention keeps its word, so it is not a part of its own.
 * @param to the list of these objects
 */
export function wordsShown(words: Overview['servers']['by_word'], to: string) {
  const shown = new Map<string, { word: string; tone: Tone; value: number }>()
  for (const { word, severity, count } of words) {
    const { tone } = marked({ word, severity, sentence: null }, usual[word] ?? 'busy')
    const known = shown.get(word)
    shown.set(word, { word, tone, value: count + (known?.value ?? 0) })
  }
  return [...shown.values()].map((w) => ({ ...w, segment: segments[w.tone] ?? 'idle', to }))
}
