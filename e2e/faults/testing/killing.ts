/** Kills the program in the middle of a change of a cluster. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type * as z from 'zod/mini'
import { type ClusterChangeInput, clusterChange } from '#contract/clusters/changes/changes.ts'
import type { ConfirmedDisks } from '#contract/servers/disks.ts'
import type { Caller } from '../../../tools/api-client.ts'
import type { Program } from '../processes.ts'
import { patiently, signIn } from './world.ts'

interface Killing {
  readonly program: Program
  readonly start: (settings?: Readonly<Record<string, string>>) => Promise<Program>
  readonly clusterId: string
  readonly change: ClusterChangeInput
  readonly confirmed_disks?: z.input<typeof ConfirmedDisks>
}

/**
 * Restarts the program so that it is killed at `point`, starts the change, and waits for the kill.
 * Returns the next program and the change's operation.
 */
export async function killedAt(
  point: string,
  { program, start, clusterId, change, confirmed_disks = [] }: Killing,
) {
  await program.kill()
  const doomed = await start({ FAILPOINT: point })
  const caller: Caller = await signIn(doomed.url)
  const { operation } = await patiently(() =>
    caller(clusterChange, { params: { id: clusterId }, body: { change, confirmed_disks } }),
  )
  expect(await Promise.race([doomed.ended, pause(90_000).then(() => 'not reached')])).toBe(
    'SIGKILL',
  )
  const next = await start()
  return { program: next, call: await signIn(next.url), operation }
}
