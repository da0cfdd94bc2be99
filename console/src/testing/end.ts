/** Ends what the tests of a file leave behind, because one process runs many files. */
import { cleanup } from '@testing-library/react'
import { afterAll, vi } from 'vitest'

afterAll(() => {
  cleanup()
  vi.useRealTimers()
  vi.restoreAllMocks()
})
