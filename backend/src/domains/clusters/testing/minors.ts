/**
 * The minors of Talos that tests of failures run on. What Talos does after a failure differs between
 * minors: since 1.14 it goes on from memory where it restarted before.
 */
import { describe } from 'vitest'
import { minors, type TalosMinor } from '#talos/versions.ts'
import { longTests } from '../../../../../tools/testing/length.ts'

/** Minors that new clusters may have, oldest first. */
export const creatable: readonly TalosMinor[] = minors.filter((m) => m.notForNew === undefined)

/**
 * Defines the same tests for each minor that new clusters may have, in the full run. In `npm test`
 * only for the oldest of them, which most other tests use.
 */
export function onEachMinor(define: (minor: TalosMinor) => Promise<void>): void {
  for (const minor of longTests ? creatable : creatable.slice(0, 1))
    describe(`Talos ${minor.minor}`, async () => {
      await define(minor)
    })
}

/** Of each minor an older release of it, and of Kubernetes, from which a cluster is upgraded. */
const older: Readonly<Record<string, { readonly talos: string; readonly kubernetes: string }>> = {
  '1.13': { talos: 'v1.13.8', kubernetes: '1.35.4' },
  '1.14': { talos: 'v1.14.0', kubernetes: '1.36.3' },
}
/** Throws for a minor that has no row, which a new minor needs. */
export function olderThan({ minor }: TalosMinor): {
  readonly talos: string
  readonly kubernetes: string
} {
  const found = older[minor]
  if (!found) throw new Error(`Talos ${minor} has no older release in testing/minors.ts`)
  return found
}
