/** Compares our judgement of CEL expressions with Talos's committed answers. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { messagesOf } from '#talos/config/cel/environments.ts'
import { spread } from '../tools/testing/length.ts'
import { answersFile, versions } from './answers.ts'
import type { Answers } from './compare.ts'
import { expressionKey, expressionsFor, ourAnswers } from './expressions.ts'

/** A text that isn't a number, or bytes that aren't a text: Talos fails, the library converts them. */
const isConversion = (expression: string): boolean =>
  /^(u?int|double|string)\(.*\) == /.test(expression)

/** Notations that Talos reads and the library doesn't; each has another spelling. */
const rareNotation = /^\.\d|^\.disk|\bbr"|\f|\w\{\}|`|talos\.resource\.definitions/

/** Whether two answers agree. What we can't tell about a known disk agrees with every value. */
const agrees = (ours: string, talos: string, expression: string): boolean =>
  ours === talos ||
  (ours === 'e' && 'tf'.includes(talos)) ||
  (ours === '-' && talos !== '-' && rareNotation.test(expression)) ||
  (talos === 'e' && 'tf'.includes(ours) && isConversion(expression))

describe.each(versions)('Talos %s', (version) => {
  const { talos, expressions, messages } = JSON.parse(
    readFileSync(answersFile(version), 'utf8'),
  ) as Answers

  test('expressions are compiled and refused as Talos does, and select the same disks and links', async () => {
    const different: string[] = []
    let equal = 0
    for (const one of spread(expressionsFor(talos), 24)) {
      const answers = expressions[expressionKey(one)]
      expect(answers, `${one.about}: where Go is, run npm run conformance`).toHaveLength(
        one.list.length,
      )
      // The steps of one piece of work are limited (`cel-steps.ts`).
      await Promise.resolve()
      const ours = ourAnswers(one, talos)
      for (const [i, expression] of one.list.entries())
        if (agrees(ours[i]!, answers![i]!, expression)) equal++
        else different.push(`${one.scope}: ${expression}: ours ${ours[i]!}, Talos ${answers![i]!}`)
    }
    expect(different).toEqual([])
    process.stdout.write(`Talos ${talos}: ${equal} expressions equal\n`)
  })

  test('expressions may name the fields of the messages of this version', () => {
    expect(messagesOf(talos)).toEqual(messages)
  })
})
