import { list, object, text } from '../../config/shape.ts'
import { overlap, parseCidr, parseRange, type Range } from './ranges.ts'

type Body = Record<string, unknown>

/** Ranges of a pool's `addresses`, CIDR or from-to; null for an invalid entry. */
export const metallbRanges = (spec: Body): (Range | null)[] =>
  list(spec.addresses).map((entry) => {
    const [first = '', last] = text(entry).split('-')
    return last === undefined ? parseCidr(first.trim()) : parseRange(first.trim(), last.trim())
  })

/** Why MetalLB's admission webhook refuses a pool, or null. */
export const refusedPool = (name: string, spec: Body, others: readonly Body[]): string | null => {
  const own = metallbRanges(spec)
  const wrong = own.indexOf(null)
  if (own.length === 0) return `pool "${name}" has no prefixes defined`
  if (wrong !== -1) return `parsing address pool "${name}": invalid CIDR "${text(list(spec.addresses)[wrong])}" in pool "${name}"`
  const before: Range[] = others
    .filter((body) => object(body.metadata).name !== name)
    .flatMap((body) => metallbRanges(object(body.spec)).filter((range) => range !== null))
  for (const [at, range] of own.entries()) {
    if (before.some((other) => overlap(other, range!)))
      return `parsing address pool "${name}": CIDR "${text(list(spec.addresses)[at])}" in pool "${name}" overlaps with already defined CIDR`
    before.push(range!)
  }
  return null
}
