/**
 * What docs/running/first-rack.md says, and what stands for it in the trial: the page asks its
 * reader to replace the examples.
 */
import assert from 'node:assert/strict'
import { type Block, blocksOf } from '../trial/page.ts'

export interface Replaced {
  readonly what: string | RegExp
  readonly by: string
  /** Why the trial can't use the page's own words. */
  readonly because: string
}

/** The page's code blocks, each of which the trial must use. */
export function readPage(text: string) {
  const blocks = blocksOf(text)
  const used = new Set<Block>()
  const replaced: Replaced[] = []
  const matched = new Set<Replaced>()
  const replace = (line: string): string =>
    replaced.reduce((before, one) => {
      const after = before.replaceAll(one.what, one.by)
      if (after !== before) matched.add(one)
      return after
    }, line)
  return {
    replace: (...more: readonly Replaced[]) => void replaced.push(...more),
    /** The next unused block below a heading, with the replaced words. */
    next(heading: string, language = 'sh'): string[] {
      const block = blocks.find((one) => one.heading === heading && !used.has(one))
      assert.ok(block, `The page has no further commands below "${heading}"`)
      assert.equal(block.language, language, `Language of a block below "${heading}"`)
      used.add(block)
      return block.lines.map(replace)
    },
    /** @throws AssertionError if a block wasn't used, or a replacement stands for nothing */
    end(): void {
      const left = blocks.filter((block) => !used.has(block))
      assert.deepEqual(
        left.map(({ heading, lines }) => [heading, ...lines]),
        [],
        'Commands that the trial does not run',
      )
      const idle = replaced.filter((one) => !matched.has(one))
      assert.deepEqual(idle, [], 'Replacements of what the page does not say')
    },
  }
}

/** `export A=1 B=2` as lines of the settings of the Debian package. */
export const settingsOf = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => {
    const [word, ...pairs] = line.split(' ')
    assert.equal(word, 'export')
    return pairs
  })
