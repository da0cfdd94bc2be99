import type { ClusterWorld } from './world.ts'

type AtEffect = (name: string, when: 'before' | 'after') => void

/** A point at which runs are held. */
interface Held {
  /** Resolves after a run has been held for the first time. */
  reached(): Promise<unknown>
  release(): void
}

/** What a test does at the effects of a world's runs. */
export function effectsOf({ backend, until }: Pick<ClusterWorld, 'backend' | 'until'>) {
  let atEffect: AtEffect | undefined
  const { failpoint } = backend.platform
  const reach = failpoint.reach.bind(failpoint)
  Object.assign(failpoint, {
    reach(...point: Parameters<AtEffect>) {
      atEffect?.(...point)
      reach(...point)
    },
  })
  /**
   * Calls `act` at each effect, instead of the one before. An error ends the run as a crash does:
   * the end of the effect is not recorded.
   */
  const watch = (act?: AtEffect): void => void (atEffect = act)
  return {
    watch,
    /** Ends every run at this effect until `release`. */
    holdAt: (effect: string, at: 'before' | 'after'): Held => {
      let isReached = false
      watch((name, when) => {
        if (name !== effect || when !== at) return
        isReached = true
        throw new Error('Held')
      })
      return {
        reached: () =>
          until(
            async () => isReached,
            (is) => is,
          ),
        release: () => watch(),
      }
    },
  }
}
