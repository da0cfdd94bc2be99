/** The places that are taken in one rack, by shelf: thousands of servers may share a chassis. */
import type { Place } from '#contract/racks/placement.ts'
import { bayKey } from '#contract/racks/placing.ts'

const shelfOf = ({ unit, height, face }: Place): string => `${unit} ${height} ${face}`

/**
 * Places that don't overlap are on at most two shelves per unit, so what could be in the way of a
 * place is found without a look at every server.
 */
export function shelves<P extends Place>() {
  const taken = new Map<string, Map<string | undefined, P>>()
  return {
    /** Adds a place that overlaps none of the others. */
    add(place: P): void {
      const shelf = shelfOf(place)
      if (!taken.has(shelf)) taken.set(shelf, new Map())
      taken.get(shelf)!.set(bayKey(place), place)
    },

    /** What has to be compared with the place: one of each shelf, and the one in its bay. */
    near(place: Place): P[] {
      const [own, bay] = [shelfOf(place), bayKey(place)]
      return [...taken].flatMap(([shelf, inside]) => {
        const sharing =
          shelf === own && bay !== undefined
            ? (inside.get(bay) ?? inside.get(undefined))
            : inside.values().next().value
        return sharing ?? []
      })
    },
  }
}
