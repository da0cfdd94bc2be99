/** The same thing done to many servers: each has a result of its own. */
import type { Server } from '#contract/servers/servers.ts'
import type { Verdict } from '#contract/rule.ts'
import { count, counted } from '#contract/words.ts'
import { reasonOf } from '../../../lib/reason.ts'
import type { Result } from '../../../ui/overlay/Results.tsx'

export interface ItemResult extends Result {
  id: string
}

/** Props of a dialog that does one thing to each of several servers. `done` is called with the results. */
export interface BulkDialog {
  servers: readonly Server[]
  done?: (results: readonly ItemResult[]) => void
}

/** "2 of 5 servers not removed" */
export const resultsTitle = (results: readonly ItemResult[], done: string): string =>
  `${count(results.filter((r) => !r.ok).length)} of ${counted(results.length, 'server')} not ${done}`

/** Of whom a dialog speaks: some of them may be out of sight, on another page or under a filter. "a, b, c, d, e, f and 3 more". */
export function namesOf(servers: readonly Pick<Server, 'name'>[], most = 6): string {
  const names = servers.slice(0, most).map((s) => s.name)
  return servers.length > most ? `${names.join(', ')} and ${count(servers.length - most)} more` : names.join(', ')
}

/** What is typed to confirm that these are removed. With plain digits: no keyboard has the space that thousands are shown with. */
export const removalWords = (servers: readonly Pick<Server, 'name'>[]): string => (servers.length === 1 ? servers[0]!.name : `remove ${servers.length} servers`)

/** How many calls are under way at once. */
const atOnce = 4

/** Which of the chosen it can be done to, and why not to the others. */
export function sorted(servers: readonly Server[], judge: (s: Server) => Verdict): { able: Server[]; unable: ItemResult[] } {
  const able: Server[] = []
  const unable: ItemResult[] = []
  for (const s of servers) {
    const verdict = judge(s)
    if (verdict.ok) able.push(s)
    else unable.push({ id: s.id, name: s.name, ok: false, reason: verdict.reason })
  }
  return { able, unable }
}

/** Does it to each, a few at a time, and tells as each has ended. What fails keeps nobody else from its turn. */
export async function toEach(
  servers: readonly Server[],
  act: (s: Server) => Promise<unknown>,
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

/** A selection may be acted on where one of it may: the others keep their place in it, with their reason. The first reason stands for all of them. */
export function anyAble(servers: readonly Server[], judge: (s: Server) => Verdict): Verdict {
  const verdicts = servers.map((s) => ({ s, verdict: judge(s) }))
  const first = verdicts[0]
  if (first === undefined || verdicts.some(({ verdict }) => verdict.ok) || first.verdict.ok) return { ok: true }
  return servers.length === 1 ? first.verdict : { ok: false, reason: `${first.s.name}: ${first.verdict.reason}` }
}
