/**
 * Limits how many connections to servers are opened at once. A server that hangs keeps its place
 * until its deadline. Servers that didn't answer the last time and unknown addresses share a
 * smaller number of places, so that hanging servers don't block the contact with all others.
 */
const dialsAtOnce = 64

/** Maximum number of places of each lane. Earlier lanes have priority. */
const lanes = {
  /** A user or an operation is waiting for the connection. */
  act: dialsAtOnce,
  /** A server that answered the last time. */
  contact: dialsAtOnce - 8,
  /** A server that didn't answer the last time. */
  suspect: 24,
  /** An address that a user entered. */
  probe: 32,
} as const
export type Lane = keyof typeof lanes
const order = Object.keys(lanes) as Lane[]

export type Budget = ReturnType<typeof budget>

export function budget(limit: number = dialsAtOnce) {
  const open: Record<Lane, number> = { act: 0, contact: 0, suspect: 0, probe: 0 }
  const waiting: Record<Lane, Set<() => void>> = {
    act: new Set(),
    contact: new Set(),
    suspect: new Set(),
    probe: new Set(),
  }
  const all = () => order.reduce((n, lane) => n + open[lane], 0)
  const hasPlace = (lane: Lane) => all() < limit && open[lane] < lanes[lane]

  const next = (): void => {
    for (const lane of order) {
      for (const begin of waiting[lane]) {
        if (!hasPlace(lane)) break
        waiting[lane].delete(begin)
        begin()
      }
    }
  }

  const place = (lane: Lane, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const begin = () => {
        signal?.removeEventListener('abort', giveUp)
        open[lane]++
        resolve()
      }
      const giveUp = () => {
        waiting[lane].delete(begin)
        reject(signal!.reason as Error)
      }
      if (waiting[lane].size === 0 && hasPlace(lane)) return begin()
      signal?.addEventListener('abort', giveUp, { once: true })
      waiting[lane].add(begin)
    })

  return {
    /**
     * Runs `act` when there is a free place. Rejects with the signal's reason if aborted while
     * waiting.
     */
    run: async <T>(lane: Lane, act: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
      await place(lane, signal)
      try {
        return await act()
      } finally {
        open[lane]--
        next()
      }
    },
    /** Number of callers that wait for a place in a lane. */
    waiting: (lane: Lane): number => waiting[lane].size,
    /** Numbers of current and waiting dials, for the metrics. */
    state: () => ({ open: all(), waiting: order.reduce((n, lane) => n + waiting[lane].size, 0) }),
  }
}
