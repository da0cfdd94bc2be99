/**
 * A line of waiting requests, of which too many may come to serve all. Alternately the newest is
 * taken, so that some are served quickly instead of all waiting long, and the oldest one of the
 * account that the fewest of them name, so that guesses at one account only delay that account.
 */
export function crowded<T extends { readonly account: string }>() {
  /** In the order of arrival. */
  let line: T[] = []
  let isNewestNext = true

  const byAccount = (): T[][] => [...Map.groupBy(line, ({ account }) => account).values()]
  const remove = (one: T): void => {
    line = line.filter((other) => other !== one)
  }
  return {
    get size(): number {
      return line.length
    },
    count: (is: (one: T) => boolean): number => line.filter(is).length,
    add: (one: T): void => void line.push(one),
    remove,
    /** Removes the next request and returns it. */
    take(): T | undefined {
      const one = isNewestNext
        ? line.at(-1)
        : byAccount().reduce((best, some) => (some.length < best.length ? some : best), line)[0]
      isNewestNext = !isNewestNext
      if (one) remove(one)
      return one
    },
    /**
     * The request that would wait longest: the one in the middle, because both ends are served; of
     * one account, if very many name it.
     */
    last(): T | undefined {
      const most = byAccount().reduce((best, some) => (some.length > best.length ? some : best), [])
      const crowd = most.length * 10 > line.length ? most : line
      return crowd[Math.floor(crowd.length / 2)]
    },
  }
}
