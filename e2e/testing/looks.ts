import { longTests } from '../../tools/testing/length.ts'
import type { Theme } from '../browser.ts'

/**
 * Widths and themes in which a journey looks at its screens: a narrow and a wide one, in the full
 * run both in both themes.
 */
export const looks: readonly (readonly [width: number, theme: Theme])[] = [
  [375, 'light'],
  ...(longTests
    ? ([
        [375, 'dark'],
        [1280, 'light'],
      ] as const)
    : []),
  [1280, 'dark'],
]
