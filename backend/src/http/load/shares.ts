/**
 * A limited number of places, shared fairly: each requester holds at most a given number of places.
 */

/**
 * A requester and the maximum number of its places. The same number of its requests may wait, or
 * `mostWaiting`.
 */
export type Share = { readonly key: string; readonly most: number; readonly mostWaiting?: number }

/**
 * `full`: no place became free in time, or the requester has gone. `own`: the requester has reached its own limit of places or
 * of waiting requests.
 */
export type Taken = { readonly give: () => void } | 'full' | 'own'

type Waiting = { readonly shares: readonly Share[]; readonly got: () => void }

/** Limit of all waiting requests, as a multiple of the number of places. */
export const waitingPerPlace = 5

export function shares(count: number) {
  let free = count
  const held = new Map<string, number>()
  const waiting = new Map<string, number>()
  const line: Waiting[] = []

  const add = (counts: Map<string, number>, asked: readonly Share[], by: 1 | -1): void => {
    for (const { key } of asked) {
      const next = (counts.get(key) ?? 0) + by
      if (next === 0) counts.delete(key)
      else counts.set(key, next)
    }
  }
  const hasRoom = (counts: ReadonlyMap<string, number>, asked: readonly Share[]): boolean =>
    asked.every(({ key, most, mostWaiting }) => {
      const limit = counts === waiting ? (mostWaiting ?? most) : most
      return (counts.get(key) ?? 0) < limit
    })
  const enter = (asked: readonly Share[]): { give: () => void } => {
    free -= 1
    add(held, asked, 1)
    let isHeld = true
    return {
      give() {
        if (!isHeld) return
        isHeld = false
        free += 1
        add(held, asked, -1)
        // Requesters that already hold their share are skipped.
        line.find((one) => hasRoom(held, one.shares))?.got()
      },
    }
  }

  return {
    /**
     * Returns a promise only if the request has to wait, because each promise costs every short
     * request some microseconds.
     * @param waitMs maximum time to wait for a place
     * @param gone ends the wait of a requester that needs no place any more
     */
    take(asked: readonly Share[], waitMs: number, gone?: AbortSignal): Taken | Promise<Taken> {
      if (free > 0 && hasRoom(held, asked)) return enter(asked)
      if (!hasRoom(waiting, asked)) return 'own'
      if (line.length >= count * waitingPerPlace) return 'full'
      return new Promise((resolve) => {
        const leave = () => {
          clearTimeout(timer)
          gone?.removeEventListener('abort', giveUp)
          line.splice(line.indexOf(one), 1)
          add(waiting, asked, -1)
        }
        const giveUp = () => {
          leave()
          resolve(hasRoom(held, asked) ? 'full' : 'own')
        }
        const timer = setTimeout(giveUp, waitMs)
        gone?.addEventListener('abort', giveUp)
        const one: Waiting = {
          shares: asked,
          got: () => {
            leave()
            resolve(enter(asked))
          },
        }
        line.push(one)
        add(waiting, asked, 1)
      })
    },
  }
}
