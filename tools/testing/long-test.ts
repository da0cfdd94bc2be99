import { test } from 'vitest'
import { longTests } from './length.ts'

const nothing = Object.assign(() => undefined, { each: () => () => undefined })

/**
 * Like `test`, for what only `npm run test:all` runs. In `npm test` it defines no test, so none is
 * reported as skipped. A file whose tests are all of this kind is named `*.long.test.ts` instead.
 */
export const longTest = longTests ? test : (nothing as unknown as typeof test)
