/**
 * Runs the commands of the documentation as a reader does: in a checkout in which nothing is
 * installed, with the machine's own Node.js, against a Steelyard that knows only a datacenter.
 */
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { freePort } from '../processes.ts'
import { commandsOf, documentedCommands } from './commands.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const commands = documentedCommands(root)

/** Commands that this test does not run, with the reason. */
const notRun: [line: RegExp, reason: string][] = [
  [/^npm test$/, 'runs all tests, this one among them'],
  [/^npm run bench /, 'measures for minutes, on a machine that does nothing else'],
  [/^npm run simulate /, 'its argument is a placeholder for the kernel command line of an image'],
  [/^steelyard login /, 'asks for the password on a terminal, at an example address'],
  [/--context lab/, 'goes to an example address'],
  [/store add offsite/, 'goes to a bucket in the internet'],
  [/image create/, 'asks the image factory in the internet'],
  [/-- backup \S+$/, 'asks for the passphrase on a terminal'],
  [/^steelyard restore /, 'is the program of the Debian package, which is not installed here'],
]
/** What answers with something else than 0, and than 5 for an object that doesn't exist here. */
const others: [line: RegExp, exit: number, reason: string][] = [
  [/server add --cidr/, 2, 'STEELYARD_DIAL_NETWORKS allows no address'],
]

const folder = mkdtempSync(join(tmpdir(), 'sy-documented-'))
const clone = join(folder, 'steelyard')
const running = new Set<number>()
afterAll(() => {
  for (const pid of running) process.kill(-pid, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}, 300_000)

/** The tracked files of this checkout, as they are now. */
function makeClone(): void {
  const { stdout } = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  for (const file of stdout.split('\0'))
    if (file !== '' && existsSync(join(root, file))) cpSync(join(root, file), join(clone, file))
}

const admin = { email: 'admin@example.com', password: 'a password for the tests' }
const passphrase = 'correct horse battery staple'
const env: Record<string, string> = {
  // Without the pinned Node.js of this checkout, which npm puts before the machine's own.
  PATH: [
    join(folder, 'bin'),
    ...process.env['PATH']!.split(delimiter).filter((part) => !part.includes('node_modules')),
  ].join(delimiter),
  HOME: process.env['HOME'] ?? folder,
  XDG_CONFIG_HOME: join(folder, 'config'),
  STEELYARD_DATA: join(folder, 'data'),
  STEELYARD_STORE_FOLDERS: join(folder, 'srv/steelyard'),
  IMAGE_FACTORY_URL: 'http://127.0.0.1:9',
  KUBERNETES_RELEASES_URL: 'http://127.0.0.1:9',
}

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}
/** Runs a line in a shell. `interrupt`: Ctrl-C after the first output. */
async function run(
  line: string,
  {
    input = '',
    more = {},
    interrupt = false,
  }: { input?: string; more?: object; interrupt?: boolean } = {},
): Promise<Ran> {
  // The shell would end by the signal itself.
  const child = spawn('sh', ['-c', interrupt ? `exec ${line}` : line], {
    cwd: clone,
    env: { ...env, ...more },
    detached: true,
  })
  running.add(child.pid!)
  child.stdin.on('error', () => undefined).end(input)
  if (interrupt) child.stdout.once('data', () => process.kill(-child.pid!, 'SIGINT'))
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  running.delete(child.pid!)
  return { code: await code, out, err }
}

/** Starts a program and resolves when a line of its output begins with `ready`. */
async function start(line: string, ready: string, more: object) {
  const child = spawn('sh', ['-c', `exec ${line}`], {
    cwd: clone,
    env: { ...env, ...more },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child.pid!)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const errors = text(child.stderr)
  const said = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (l) => l.startsWith(ready) && resolve(l))
    void Promise.all([ended, errors]).then(([code, err]) =>
      reject(new Error(`${line} ended with ${code}: ${err}`)),
    )
  })
  const stop = async () => {
    process.kill(-child.pid!, 'SIGINT')
    const code = await ended
    running.delete(child.pid!)
    return code
  }
  return { said, stop }
}

/** Folders of the documentation are below the test's own. */
const local = (line: string): string =>
  line
    .replace('/path/to/the/file.backup', '/backups/steelyard-monday')
    .replaceAll(/ (?=\/(?:backups|srv|etc)\/)/g, ` ${folder}`)

const ofProgram =
  /^npm run steelyard -- (?:doctor|user add --first|user recover|backup \/|restore|audit verify)/

test('commands are found in Markdown and HTML, without comments and other lines', () => {
  const markdown = [
    'Text `npm run no`.',
    '```sh',
    'export A=1',
    'npm start          # to look at it',
    "steelyard grow web --confirm-disk 'S6XY=ext4' \\",
    '  --wait',
    '```',
  ].join('\n')
  expect(commandsOf('a.md', markdown).map(({ line }) => line)).toEqual([
    'npm start',
    "steelyard grow web --confirm-disk 'S6XY=ext4' --wait",
  ])
  const html = '<p><code>npm run no</code></p><pre>\nnpm run a &gt; <b>b</b></pre>'
  expect(commandsOf('a.html', html)).toEqual([{ page: 'a.html', line: 'npm run a > b' }])
  expect(commands.length).toBeGreaterThan(80)
})

test('each exception of this test stands for a documented command', () => {
  const unused = [...notRun, ...others].filter(
    ([pattern]) => !commands.some(({ line }) => pattern.test(line)),
  )
  expect(unused).toEqual([])
})

test('every documented command runs in an empty clone', async () => {
  makeClone()
  for (const name of [
    'bin',
    'backups',
    'srv/steelyard',
    'etc/steelyard',
    'steelyard/import',
    'steelyard/clusters',
  ])
    mkdirSync(join(folder, name), { recursive: true, mode: 0o755 })
  writeFileSync(join(folder, 'etc/steelyard/backup-passphrase'), `${passphrase}\n`, { mode: 0o600 })
  writeFileSync(
    join(folder, 'bin/steelyard'),
    `#!/bin/sh\nexec node ${clone}/cli/dist/steelyard.mjs "$@"\n`,
    { mode: 0o755 },
  )
  writeFileSync(join(clone, 'sysctls.yaml'), 'machine: {sysctls: {a.b: "1"}}\n')
  const vlan = { apiVersion: 'v1alpha1', kind: 'VLANConfig', name: 'vlan120', vlanID: 120 }
  writeFileSync(join(clone, 'vlan.yaml'), JSON.stringify({ ...vlan, parent: '{{link}}' }))
  writeFileSync(join(clone, 'import/web.db'), 'no snapshot')
  writeFileSync(join(clone, 'secrets.yaml'), 'no secrets')

  // The first command installs, and says so where it doesn't disturb the output.
  const first = await run('npm run --silent steelyard -- doctor --json')
  expect(first.err).toMatch(/^Installing packages .*…\n/)
  expect(JSON.parse(first.out)).toContainEqual(expect.objectContaining({ check: 'settings' }))
  expect(await run('npm run --silent steelyard -- doctor')).toMatchObject({ code: 0, err: '' })

  const done = new Set<string>()
  const outcome = new Map<string, string>()
  const judge = (line: string, { code, err, out }: Ran, wanted: readonly number[]) => {
    done.add(line)
    const isTrace = /^\s+at \S+ \(/m.test(err + out)
    if (!wanted.includes(code ?? -1) || isTrace)
      outcome.set(line, `${code}${isTrace ? ', a stack trace' : ''}: ${err.slice(0, 500)}`)
  }
  const linesOf = (pattern: RegExp) => commands.map((c) => c.line).filter((l) => pattern.test(l))

  const port = String(await freePort())
  const demo = await start('npm start', 'Sign in as', {
    STEELYARD_DATA: join(folder, 'demo'),
    STEELYARD_SIMULATE: '1',
    PORT: port,
  })
  done.add('npm start')
  expect(await demo.stop()).toBe(0)

  for (const line of linesOf(/user add --first/))
    judge(line, await run(line, { input: `${admin.password}\n` }), [0])
  const steelyard = await start('npm run serve', 'Steelyard is ready at', { PORT: port })
  done.add('npm run serve')
  const url = /http:\S+/.exec(steelyard.said)![0]
  const more = { STEELYARD_URL: url }
  const login = `steelyard login ${admin.email} --password-stdin --url ${url}`
  expect(await run(login, { input: admin.password })).toMatchObject({ code: 0 })
  const datacenter = { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań', tier: 3 }
  expect(
    await run(`steelyard api POST /v1/datacenters -d '${JSON.stringify(datacenter)}'`, { more }),
  ).toMatchObject({ code: 0 })

  for (const { line } of commands) {
    if (done.has(line) || notRun.some(([pattern]) => pattern.test(line))) continue
    if (/-- restore/.test(line)) continue
    const other = others.find(([pattern]) => pattern.test(line))
    const isWatch = line.includes('--watch')
    judge(
      line,
      await run(local(line), { more, interrupt: isWatch }),
      other ? [other[1]] : isWatch ? [130, 5] : ofProgram.test(line) ? [0] : [0, 5],
    )
  }
  expect(await steelyard.stop()).toBe(0)

  for (const [at, line] of linesOf(/-- restore/).entries()) {
    const withPassphrase = `${local(line)} --passphrase-file ${folder}/etc/steelyard/backup-passphrase`
    const into = { STEELYARD_DATA: join(folder, `restored-${at}`) }
    judge(line, await run(withPassphrase, { more: into }), [0])
  }
  expect(Object.fromEntries(outcome)).toEqual({})
  const left = commands.filter(
    ({ line }) => !done.has(line) && !notRun.some(([pattern]) => pattern.test(line)),
  )
  expect(left).toEqual([])
}, 1_800_000)
