/**
 * Ends what the helpers of tests start: backends, servers, databases. One process runs many test
 * files, so nothing may outlive its file.
 */
import { onTestFinished, TestRunner } from 'vitest'

const ends: (() => unknown)[] = []

/**
 * Runs `end` after the running test; outside of tests, at the end of the test file. What started
 * last ends first.
 */
export function whenOver(end: () => unknown): void {
  if (TestRunner.getCurrentTest()) onTestFinished(async () => void (await end()))
  // Not `afterAll`, which vitest ignores if a hook such as `beforeAll` calls it.
  else ends.push(end)
}

/** Runs `end` at the end of the test file, also if a test calls this. */
export const whenFileIsOver = (end: () => unknown): void => void ends.push(end)

/** Runs everything that waits for the end of the test file. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end()
}
