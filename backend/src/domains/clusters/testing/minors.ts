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
