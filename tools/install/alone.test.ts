import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { holdAlone } from './alone.mjs'

const fileOf = () => join(mkdtempSync(join(tmpdir(), 'sy-alone-')), 'held')
const never = () => expect.unreachable()

test('two commands of one checkout install one after the other, and the second says that it waits', async () => {
  const file = fileOf()
  const release = await holdAlone(file, never)
  const order: string[] = []
  const waits = Promise.withResolvers<void>()
  const second = holdAlone(file, () => {
    order.push('waits')
    waits.resolve()
  }).then((end) => {
    order.push('has it')
    return end
  })
  await waits.promise
  order.push('released')
  release()
  const end = await second
  expect(order).toEqual(['waits', 'released', 'has it'])
  end()
  expect(existsSync(file)).toBe(false)
})

test('a command that was killed holds nobody up', async () => {
  const file = fileOf()
  const killed = promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { holdAlone } from ${JSON.stringify(join(import.meta.dirname, 'alone.mjs'))}
    await holdAlone(${JSON.stringify(file)}, () => {})
    process.kill(process.pid, 'SIGKILL')`,
  ])
  await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' })
  expect(existsSync(file)).toBe(true)
  const end = await holdAlone(file, never)
  expect(readFileSync(file, 'utf8')).toBe(`${hostname()} ${process.pid}`)
  end()
})

test('a file of another machine that nobody has touched for a minute is taken over', async () => {
  const file = fileOf()
  writeFileSync(file, 'another-host 1')
  utimesSync(file, Date.now() / 1000 - 60, Date.now() / 1000 - 60)
  const end = await holdAlone(file, never)
  expect(readFileSync(file, 'utf8')).toBe(`${hostname()} ${process.pid}`)
  end()
})
