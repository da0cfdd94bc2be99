/** Compares the simulator's own judgement of CEL expressions with Talos's committed answers. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { celProblem } from '#simulator/src/config/cel/cel.ts'
import { evaluate } from '#simulator/src/config/cel/evaluate.ts'
import { parse } from '#simulator/src/config/cel/syntax.ts'
import type { Scope } from '#simulator/src/config/cel/types.ts'
import type { CelScope } from '#talos/config/cel/environments.ts'
import { spread } from '../tools/testing/length.ts'
import { answersFile, versions } from './answers.ts'
import type { Answers } from './compare.ts'
import { expressionKey, expressionsFor, facts } from './expressions.ts'

/** Scopes that the simulator judges, by its own names. */
const scopes: Partial<Record<CelScope, Scope>> = {
  disk: 'disk',
  volume: 'volume',
  'member volume': 'member',
  link: 'link',
}

/** Functions and notations that the simulator refuses and Talos takes. */
const unknown =
  /\b(?:duration|timestamp|get(?:FullYear|Hours|Minutes|Seconds))\(|google\.protobuf|talos\.resource|`/

/** What an expression says of the sample of a disk: `t`, `f`, or `e` for an error. */
function valueOf(expression: string): string {
  try {
    return evaluate(parse(expression), { disk: facts.disk, system_disk: false }) ? 't' : 'f'
  } catch {
    return 'e'
  }
}

describe.each(versions)('Talos %s', (version) => {
  const { talos, expressions } = JSON.parse(readFileSync(answersFile(version), 'utf8')) as Answers
  const minor = Number(/^v1\.(\d+)/.exec(talos)![1])

  test('simulated machines compile and refuse the expressions that Talos does, and select the same disks', () => {
    const cases = expressionsFor(talos).filter(({ scope }) => scopes[scope] !== undefined)
    const different: string[] = []
    for (const { scope, list, ...one } of spread(cases, 24)) {
      const answers = expressions[expressionKey({ scope, list, ...one })]!
      for (const [index, expression] of list.entries()) {
        const problem = celProblem(expression, scopes[scope]!, minor)
        const isTaken = answers[index] !== '-'
        if ((problem === null) !== isTaken && !(isTaken && unknown.test(expression)))
          different.push(`${scope}: ${expression}: Talos ${answers[index]!}, ours ${problem}`)
        if (scope !== 'disk' || problem !== null || /\btype\(/.test(expression)) continue
        const value = valueOf(expression)
        if (value !== answers[index])
          different.push(`${scope}: ${expression}: Talos ${answers[index]!}, ours ${value}`)
      }
    }
    expect(different).toEqual([])
  })
})
