/** Ends what the tests of a file leave behind, because one process runs many files. */
import { afterAll, vi } from 'vitest'

const ofPage =
  typeof document === 'undefined'
    ? undefined
    : await Promise.all([import('@testing-library/react'), import('../api/query.ts')])

afterAll(() => {
  const [library, query] = ofPage ?? []
  library?.cleanup()
  query?.queryClient.clear()
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})
