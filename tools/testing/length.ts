/**
 * Whether the tests run in full, as `npm run test:all` runs them: every point of a fault, every
 * screen, long lives. `npm test` runs a sample. A test file that is only for the full run is named
 * `*.long.test.ts`.
 */
export const longTests = process.env['TEST_ALL'] === '1'
