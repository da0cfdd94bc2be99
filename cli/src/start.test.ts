/** The real process, for what happens to its standard streams. */
import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const main = fileURLToPath(new URL('main.ts', import.meta.url))

test('output that a full disk does not take is an error', async () => {
  const full = await open('/dev/full', 'w')
  try {
    const child = spawn(process.execPath, [main, 'completion', 'bash'], {
      stdio: ['ignore', full.fd, 'pipe'],
    })
    const code = new Promise((resolve) => child.once('exit', resolve))
    expect(await text(child.stderr!)).toBe(
      "The output can't be written: no space is left on the device\n",
    )
    expect(await code).toBe(1)
  } finally {
    await full.close()
  }
})

test('a reader that goes away ends the program without an error', async () => {
  const child = spawn(process.execPath, [main, 'completion', 'fish'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const code = new Promise((resolve) => child.once('exit', resolve))
  child.stdout.destroy()
  expect(await text(child.stderr)).toBe('')
  expect(await code).toBe(0)
})

test('a password on standard input that is not UTF-8 is refused', async () => {
  const child = spawn(process.execPath, [main, 'login', 'a@example.com', '--password-stdin'])
  child.stdin.end(Buffer.from('correct horse \xf3', 'latin1'))
  expect(await text(child.stderr)).toContain(
    'Standard input is not UTF-8 text: see line 1, byte 15 of the file (0xF3)\n',
  )
})

test('a file may come from a standard input that another program has opened', async () => {
  // Node connects it to a socket, which can't be opened by the name /dev/stdin.
  const child = spawn(process.execPath, [main, 'apply', '-f', '-'])
  child.stdin.end('kind: nothing\n')
  expect(await text(child.stderr)).toContain('standard input:1: There is no kind nothing')
})
