/** When the database of etcd is near its largest size. Findings and the health of a cluster say it. */
import { enumerated } from '#contract/words.ts'

/** etcd's largest database if nothing else is set (etcd, "System limits": 2 GiB). */
const usualQuotaBytes = 2 * 1024 ** 3
const nearly = 0.8

const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`

/** A sentence without its full stop; null if no database is near its largest size. */
export function fillingSaid(
  members: readonly { readonly name: string; readonly size_bytes: number | null }[],
): string | null {
  // A database above the usual limit has a larger one, which etcd doesn't report.
  const filling = members.filter(
    ({ size_bytes: size }) =>
      size !== null && size >= nearly * usualQuotaBytes && size < usualQuotaBytes,
  )
  const [largest] = filling.toSorted((a, b) => b.size_bytes! - a.size_bytes!)
  if (largest === undefined) return null
  return `The database of ${enumerated(filling.map(({ name }) => name))} has ${gib(largest.size_bytes!)}. At ${gib(usualQuotaBytes)} etcd refuses writes, unless its quota-backend-bytes is larger`
}
