/** Bulk actions on servers, with a result per server. */
import type { ListedServer } from '#contract/servers/servers.ts'
import type { Verdict } from '#contract/rule.ts'
import { count, counted, someOf } from '#contract/words.ts'
import { reasonOf } from '../../../lib/reason.ts'
import type { Result } from '../../../ui/overlay/Results.tsx'

export interface ItemResult extends Result {
  id: string
}

/** Props of a bulk dialog. `done` receives the results. */
export interface BulkDialog {
  servers: readonly ListedServer[]
  done?: (results: readonly ItemResult[]) => void
}

/** "2 of 5 servers not removed" */
export const resultsTitle = (results: readonly ItemResult[], done: string): string =>
  `${count(results.filter((r) => !r.ok).length)} of ${counted(results.length, 'server')} not ${done}`

/**
 * Names of the servers in a dialog, because some may be hidden by a filter or on another page: "a,
 * b, c, d, e, f and 3 more".
 */
export const namesOf = (servers: readonly Pick<ListedServer, 'name'>[], most = 6): string =>
  someOf(
    servers.slice(0, most).map((s) => s.name),
    most,
    servers.length,
  )

/** Number of concurrent calls. */
const atOnce = 4

/**
 * Splits the selection into servers that the action applies to (`able`), and servers that it
 * doesn't apply to, with the reason.
 */
export function sorted(
  servers: readonly ListedServer[],
  judge: (s: ListedServer) => Verdict,
): { able: ListedServer[]; unable: ItemResult[] } {
  const able: ListedServer[] = []
  const unable: ItemResult[] = []
  for (const s of servers) {
    const verdict = judge(s)
    if (verdict.ok) able.push(s)
    else unable.push({ id: s.id, name: s.name, ok: false, reason: verdict.reason })
  }
  return { able, unable }
}

/**
 * Runs an action on each server, a few at a time, and reports each result. A failure doesn't stop
 * the actions on other servers.
 */
export async function toEach(
  servers: readonly ListedServer[],
  act: (s: ListedServer) => Promise<unknown>,
  told: (ended: number) => void = () => undefined,
): Promise<ItemResult[]> {
  const results: ItemResult[] = []
  const waiting = servers.entries()
  let ended = 0
  const work = async () => {
    for (const [i, s] of waiting) {
      try {
        await act(s)
        results[i] = { id: s.id, name: s.name, ok: true, reason: null }
      } catch (error) {
        results[i] = { id: s.id, name: s.name, ok: false, reason: reasonOf(error) }
      }
      told(++ended)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return results
}
