/** `npm start` as a process, without its builds. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll } from 'vitest'
import { freeBlock } from '../../tools/testing/free-block.ts'

export const admin = { email: 'admin@example.com', password: 'a password for the tests' }

/** A data folder and the demo on it. Both are gone after the tests of the file. */
export async function demoProcess() {
  const data = mkdtempSync(path.join(tmpdir(), 'sy-demo-'))
  const offset = await freeBlock(2)
  let kill: () => void = () => undefined
  afterAll(() => {
    kill()
    rmSync(data, { recursive: true, force: true })
  })

  /**
   * Starts the demo, and resolves with its lines when it has written the `last`: by default, when it
   * has said how to sign in and where the data stays.
   */
  async function start(more: Record<string, string | undefined> = {}, last = 'The image factory') {
    const child = spawn(process.execPath, ['tools/demo.ts', '--subnet-offset', String(offset)], {
      stdio: ['ignore', 'pipe', 'ignore'],
      // A process group, so that a kill reaches the simulator and the program as well.
      detached: true,
      env: {
        ...Object.fromEntries(
          Object.entries(process.env).filter(([name]) => !name.startsWith('STEELYARD_')),
        ),
        PORT: '0',
        STEELYARD_DATA: data,
        STEELYARD_SIMULATE: '1',
        STEELYARD_ADMIN_EMAIL: admin.email,
        STEELYARD_ADMIN_PASSWORD: admin.password,
        ...more,
      },
    })
    kill = () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
    }
    const ended = new Promise<number | null>((resolve) =>
      child.once('exit', (code) => resolve(code)),
    )
    const lines: string[] = []
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        lines.push(line)
        if (line.startsWith(last)) resolve()
      })
      void ended.then((code) =>
        reject(new Error(`The demo ended with ${code}: ${lines.join('\n')}`)),
      )
    })
    const stop = () => {
      child.kill('SIGTERM')
      return ended
    }
    return {
      url: /http:\S+/.exec(lines[0]!)![0],
      line: lines.find((one) => one.startsWith('Sign in as'))!,
      stop,
    }
  }
  return { data, start, kill: () => kill() }
}

export const isUp = async (url: string): Promise<boolean> =>
  (await fetch(`${url}/readyz`)).status === 200
