/**
 * Returns memory to the system while nobody uses the program. V8 collects the old generation only when the heap grows, and keeps the memory of a peak, such as
 * the registration of a thousand servers. A collection stops the program for about a tenth of a second, so the program collects only after some time
 * without a request.
 */
export interface IdleMemory {
  /** Collects garbage; undefined if Node runs without `--expose-gc`. */
  readonly collect: (() => void) | undefined
  readonly residentBytes: () => number
}

const checkMs = 30_000
const leastQuietMs = 2_000
/**
 * The resident memory must have grown by this much since the last collection. With 1,000 idle servers it grows by 10 MB in half a minute and by 15 MB in all,
 * because V8's own collections hold it there. With 8 MiB the process collects every minute, which takes a fifth of its processor time.
 */
const growthBytes = 12 * 1024 ** 2

/** @param quietMs time since the last request, in ms. Returns a function that ends the checks. */
export function returnIdleMemory({ collect, residentBytes }: IdleMemory, quietMs: () => number): () => void {
  if (!collect) return () => undefined
  let collected = 0
  const timer = setInterval(() => {
    if (quietMs() < leastQuietMs || residentBytes() < collected + growthBytes) return
    collect()
    collected = residentBytes()
  }, checkMs)
  return () => clearInterval(timer)
}
