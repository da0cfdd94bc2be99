/** Stores which finding each server shows in lists and on its page. */
import { isDeepStrictEqual } from 'node:util'
import type { WorstFinding } from '#contract/findings/findings.ts'
import type { Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import * as store from './store.ts'

export async function showFindings(
  { clock, tell }: Pick<Platform, 'clock' | 'tell'>,
  tx: Tx,
  shown: ReadonlyMap<string, WorstFinding>,
): Promise<void> {
  const before = new Map((await store.withFindings(tx)).map((row) => [row.id, row.finding]))
  const differs = (id: string) => !isDeepStrictEqual(before.get(id) ?? null, shown.get(id) ?? null)
  const changed = [...new Set([...before.keys(), ...shown.keys()])].filter(differs)
  if (changed.length === 0) return
  const written = await store.writeFindings(
    tx,
    changed.map((id) => ({ id, finding: shown.get(id) ?? null })),
    new Date(clock.now()),
  )
  await tell(
    tx,
    system,
    written.map(({ id, version }) => ({
      name: 'server.updated' as const,
      object: { kind: 'server' as const, id },
      version,
    })),
  )
}
