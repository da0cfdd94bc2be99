import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { diskFull, whyNotInstalled, wrongClock } from './failures.mjs'

const where = { folder: '/srv/steelyard', registry: 'https://registry.example' }

/** What npm 10 to 12 print for each cause. */
const printed: [cause: string, output: string, sentence: string][] = [
  [
    'no route to the registry',
    'npm error code ENOTFOUND\nnpm error network request to https://registry.example/zod failed',
    "can't be reached (ENOTFOUND)",
  ],
  [
    'a full disk',
    'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write',
    'The disk is full: make room where /srv/steelyard is',
  ],
  [
    'a folder of another user',
    "npm error code EACCES\nnpm error syscall mkdir\nnpm error path '/srv/steelyard/node_modules'",
    "This user can't write to /srv/steelyard",
  ],
  [
    'an authority that npm does not know',
    'npm error code SELF_SIGNED_CERT_IN_CHAIN',
    'set NODE_EXTRA_CA_CERTS',
  ],
  ['a clock that is years behind', 'npm error code CERT_NOT_YET_VALID', 'set the clock'],
  ['a mirror with a part', 'npm error code E404', 'lacks a package of the lockfile'],
  ['another package', 'npm error code EINTEGRITY', 'has other content than the lockfile says'],
  ['no npm', ': spawn npm ENOENT', 'npm is not installed'],
]
for (const [cause, output, sentence] of printed)
  test(`a failed installation says the cause in a sentence: ${cause}`, () => {
    expect(whyNotInstalled(output, where)).toContain(sentence)
  })

test("npm's own output explains what no sentence does", () => {
  expect(whyNotInstalled('npm error Invalid Version: x', where)).toBeUndefined()
})

test('a disk too full for the packages is noticed before and after npm has filled it', () => {
  expect(diskFull('/srv', 499e6, 'before')).toMatch(/take 500 MB.* 499 MB are free/)
  expect(diskFull('/srv', 501e6, 'before')).toBeUndefined()
  expect(diskFull('/srv', 0, 'after')).toContain('The disk is full')
  expect(diskFull('/srv', 20e6, 'after')).toBeUndefined()
})

test('a clock before 2020 is refused in a sentence, before anything is installed', async () => {
  expect(wrongClock(Date.UTC(2026, 0, 1))).toBeUndefined()
  const ran = promisify(execFile)(process.execPath, ['start.mjs', '--install'], {
    env: { ...process.env, NODE_OPTIONS: '--import=data:text/javascript,Date.now=()=>0' },
  })
  await expect(ran).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr:
      "This machine's clock says 1970-01-01T00:00:00.000Z. Set it first: certificates, sessions and backups depend on it. Nothing was started.\n",
  })
})
