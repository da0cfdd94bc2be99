/**
 * Whether the tests run in full, as `npm run test:all` runs them: every point of a fault, every
 * screen, long lives. `npm test` runs a sample. A test file that is only for the full run is named
 * `*.long.test.ts`.
 */
export const longTests = process.env['TEST_ALL'] === '1'

/**
 * The cases that this run tries: in the full run all, otherwise `count` of them, each from the
 * middle of one of `count` equal parts of the list. The same list always gives the same cases.
 */
export const spread = <T>(cases: readonly T[], count: number): readonly T[] =>
  longTests
    ? cases
    : Array.from(
        { length: Math.min(count, cases.length) },
        (_, i) => cases[Math.floor(((i + 0.5) * cases.length) / Math.min(count, cases.length))]!,
      )
