import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)

/**
 * Runs a program whose ticks survive a collection, until V8 has compiled `process.nextTick`. Prints for the tick and its parameters whether V8 allocates
 * them in the young generation.
 */
const whereTicksLive = async (lesson: string): Promise<string> => {
  const program = `
    import { executionAsyncResource } from 'node:async_hooks'
    const { expectShortTicks } = await import(${JSON.stringify(new URL('short-ticks.ts', import.meta.url).href)})
    const ticks = { collectYoung: () => gc({ type: 'minor' }), tick: (...values) => process.nextTick(...values) }
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    const nothing = () => undefined
    ${lesson}
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 300; i++) process.nextTick(nothing, 1)
      gc({ type: 'minor' })
      await turn()
    }
    for (let round = 0; round < 2000; round++) {
      for (let i = 0; i < 50; i++) process.nextTick(nothing, 1)
      await turn()
    }
    process.nextTick(() => {
      const tick = executionAsyncResource()
      console.log(%InYoungGeneration(tick), %InYoungGeneration(tick.args))
    }, 1)`
  // V8 doesn't decide before the young generation has its full size.
  const flags = ['--min-semi-space-size=4', '--max-semi-space-size=4', '--expose-gc', '--allow-natives-syntax', '--no-warnings']
  const { stdout } = await run(process.execPath, [...flags, '--input-type=module', '--eval', program])
  return stdout.trim()
}

test('ticks are allocated in the young generation, even if many of them once survived a collection', async () => {
  // Without it V8 decides for the old generation. If this line fails, V8 has changed and `short-ticks.ts` may be superfluous.
  expect(await whereTicksLive('')).toBe('false false')
  expect(await whereTicksLive('await expectShortTicks(ticks)')).toBe('true true')
})
