import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { buildClient } from './build.ts'

test('the standalone client is built as one small file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'steelyard-build-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await buildClient(folder)
  expect((await readdir(folder)).toSorted()).toEqual(['steelyard.mjs', 'steelyard.mjs.gz'])
  const file = join(folder, 'steelyard.mjs')
  expect(gunzipSync(await readFile(`${file}.gz`))).toEqual(await readFile(file))
  expect((await stat(file)).size).toBeLessThan(1_000_000)

  // The file runs on Node 20, which lacks these functions; the bundler doesn't add them.
  const newer =
    /\b(?:(?:Map|Object)\.groupBy|Promise\.(?:withResolvers|try)|Array\.fromAsync|RegExp\.escape|Iterator\.from)\b/
  expect(newer.exec(await readFile(file, 'utf8'))?.[0]).toBeUndefined()

  const env = { ...process.env, XDG_CONFIG_HOME: folder }
  const run = (...args: string[]) => promisify(execFile)(process.execPath, [file, ...args], { env })
  expect((await run('--help')).stdout).not.toContain('doctor')
  expect(
    JSON.parse((await run('version', '--json', '--url', 'http://127.0.0.1:9')).stdout),
  ).toMatchObject({ server: null })
  await expect(run('doctor')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is a command of the program itself') as string,
  })
})
