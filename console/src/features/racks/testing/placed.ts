import type { Place } from '#contract/racks/placement.ts'
import type { ListedServer } from '#contract/servers/servers.ts'

/** A listed server that is well and in rack A-1; unit 1 and one unit high unless `place` says so. */
export const placed = (
  name: string,
  place: Partial<Place>,
  more: Partial<ListedServer> = {},
): ListedServer =>
  ({
    id: name,
    name,
    type: 'worker',
    cluster: null,
    finding: null,
    placement: {
      rack: { id: 'r', name: 'A-1' },
      unit: 1,
      height: 1,
      face: 'both',
      bay: null,
      ...place,
    },
    ...more,
  }) as ListedServer
