import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../testing/folder.ts'
import { testMachine } from '../../testing/postgres.ts'
import { isListening, listenIn } from './elsewhere.ts'
import { isUsedElsewhere, lockFolder } from './lock.ts'

/** A folder whose path is too long for a socket. */
function longFolder(): string {
  const folder = path.join(temporaryFolder('elsewhere'), 'a'.repeat(120))
  mkdirSync(folder)
  return folder
}
/** As a container sees it in which the holder of the lock has another process id. */
const lockOfOther = (folder: string) =>
  writeFileSync(path.join(folder, 'steelyard.pid'), JSON.stringify({ pid: 4_194_303, began: '1' }))

// Other systems have no containers with process ids of their own.
describe.runIf(existsSync('/proc/self/fd'))('on Linux', () => {
  test('a folder that a Steelyard of another container uses is known by its socket', async () => {
    const folder = longFolder()
    lockOfOther(folder)
    expect(await isUsedElsewhere(folder, testMachine)).toBe(false)
    const stop = await listenIn(folder)
    expect(await isUsedElsewhere(folder, testMachine)).toBe(true)
    stop()
    expect(await isUsedElsewhere(folder, testMachine)).toBe(false)
    expect(existsSync(path.join(folder, 'steelyard.socket'))).toBe(false)
  })

  test('a Steelyard of this machine that uses the folder is not elsewhere', async () => {
    const folder = longFolder()
    const unlock = lockFolder(folder, testMachine)
    const stop = await listenIn(folder)
    expect(await isUsedElsewhere(folder, testMachine)).toBe(false)
    stop()
    unlock()
  })

  test('the socket of a process that was killed counts no more, and is replaced', async () => {
    const folder = longFolder()
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `const { listenIn } = await import(${JSON.stringify(path.join(import.meta.dirname, 'elsewhere.ts'))})
       await listenIn(process.argv[1])
       console.log('listens')
       setInterval(() => undefined, 1000)`,
        folder,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    await once(child.stdout, 'data')
    expect(await isListening(folder)).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(existsSync(path.join(folder, 'steelyard.socket'))).toBe(true)
    expect(await isListening(folder)).toBe(false)
    const stop = await listenIn(folder)
    expect(await isListening(folder)).toBe(true)
    stop()
  })
})
