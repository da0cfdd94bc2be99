import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { holdAlone } from './alone.mjs'

const fileOf = () => join(mkdtempSync(join(tmpdir(), 'sy-alone-')), 'held')
const own = `${hostname()} ${process.pid} `
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
  expect(readFileSync(file, 'utf8')).toContain(own)
  end()
})

const touchedBefore = (file: string, seconds: number): void =>
  utimesSync(file, Date.now() / 1000 - seconds, Date.now() / 1000 - seconds)

test('a process that lives keeps the file however long it has not touched it', async () => {
  const file = fileOf()
  const release = await holdAlone(file, never)
  touchedBefore(file, 3600)
  const waits = Promise.withResolvers<void>()
  const second = holdAlone(file, waits.resolve)
  await waits.promise
  expect(readFileSync(file, 'utf8')).toContain(own)
  release()
  const end = await second
  end()
})

test('an id that another process has got meanwhile holds nobody up', async () => {
  const file = fileOf()
  writeFileSync(file, `${hostname()} ${process.pid} another-start x`)
  const end = await holdAlone(file, never)
  end()
  expect(existsSync(file)).toBe(false)
})

test('one of many that wait takes over a file that was left', async () => {
  const file = fileOf()
  writeFileSync(file, `${hostname()} 4999999 x y`)
  let [inside, most] = [0, 0]
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      const end = await holdAlone(file, () => undefined)
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
      end()
    }),
  )
  expect(most).toBe(1)
  expect(existsSync(`${file}.left`)).toBe(false)
})

test('a holder does not remove the file of another', async () => {
  const file = fileOf()
  const end = await holdAlone(file, never)
  writeFileSync(file, 'another-host 1 x y')
  end()
  expect(readFileSync(file, 'utf8')).toBe('another-host 1 x y')
})

test('a file of another machine that nobody has touched for a minute is taken over', async () => {
  const file = fileOf()
  writeFileSync(file, 'another-host 1')
  touchedBefore(file, 60)
  const end = await holdAlone(file, never)
  expect(readFileSync(file, 'utf8')).toContain(own)
  end()
})
