import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { withLock } from './lock.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'steelyard-lock-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

test('only one process at a time holds the lock', async () => {
  const dir = await folder()
  await writeFile(join(dir, 'count'), '0')
  const module = fileURLToPath(new URL('lock.ts', import.meta.url))
  const script = `
    import { readFile, writeFile } from 'node:fs/promises'
    import { withLock } from ${JSON.stringify(module)}
    for (let i = 0; i < 20; i++) await withLock('lock', async () => {
      const count = Number(await readFile('count', 'utf8'))
      await new Promise((resolve) => setImmediate(resolve))
      await writeFile('count', String(count + 1))
    })`
  const exits = await Promise.all(
    Array.from(
      { length: 4 },
      () =>
        new Promise(
          (resolve) =>
            void spawn(process.execPath, ['--input-type=module', '--eval', script], {
              cwd: dir,
              stdio: 'inherit',
            }).once('exit', resolve),
        ),
    ),
  )
  expect(exits).toEqual([0, 0, 0, 0])
  expect(await readFile(join(dir, 'count'), 'utf8')).toBe('80')
})

test('exactly one of many processes takes over the lock of a killed process', async () => {
  const path = join(await folder(), 'lock')
  // No such process exists: the highest process id on Linux is 4194304.
  await writeFile(path, `4999999 ${hostname()} x`)
  let inside = 0
  let most = 0
  await Promise.all(
    Array.from({ length: 10 }, () =>
      withLock(path, async () => {
        most = Math.max(most, ++inside)
        await turn()
        inside--
      }),
    ),
  )
  expect(most).toBe(1)
})

test('a lock held by another machine is taken over only when it is old', async () => {
  const path = join(await folder(), 'lock')
  await writeFile(path, '1 elsewhere.example.com x')
  let got = false
  const work = withLock(path, async () => void (got = true))
  // Acquires an unrelated lock, which gives the waiting `withLock` time for its first try.
  await withLock(`${path} of another`, turn)
  expect(got).toBe(false)
  const old = new Date(Date.now() - 240_000)
  await utimes(path, old, old)
  await work
  expect(got).toBe(true)
})

test('the lock is released if the locked work fails', async () => {
  const path = join(await folder(), 'lock')
  await expect(withLock(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await withLock(path, async () => 'again')).toBe('again')
})
