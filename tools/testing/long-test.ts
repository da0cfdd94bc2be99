import { test } from 'vitest'
import { isRepetition, longTests } from './length.ts'

const nothing = Object.assign(() => undefined, { each: () => () => undefined })

/**
 * Like `test`, for what only `npm run test:all` runs. In `npm test` it defines no test, so none is
 * reported as skipped. A file whose tests are all of this kind is named `*.long.test.ts` instead.
 */
export const longTest = longTests ? test : (nothing as unknown as typeof test)

/**
 * Like `test`, for what is the same on every PostgreSQL: `npm test` doesn't repeat it on the
 * system's.
 */
export const onceTest = isRepetition ? (nothing as unknown as typeof test) : test
