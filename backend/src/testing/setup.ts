/** vitest evaluates this file again for each test file. */
import { afterAll } from 'vitest'
import { endAll } from './ending.ts'

afterAll(endAll)
