/**
 * The command line alone: as one file, `steelyard-VERSION.mjs`, and as a package of npm that could
 * be published, `steelyard-cli-VERSION.tgz`. Both run on Node.js 20 and newer without dependencies.
 */
import assert from 'node:assert/strict'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { freePort, run as start } from '../processes.ts'
import { type Artefact, attempt, type Release, run } from './artefact.ts'
import { builtSource } from './build.ts'
import { admin, signedIn } from './trial/fleet.ts'

const fileName = (version: string) => `steelyard-${version}.mjs`
const packageName = (version: string) => `steelyard-cli-${version}.tgz`

/** What npm needs to publish it. The name is that of an organisation, which nobody else can take. */
const manifest = (version: string) => ({
  name: '@steelyard/cli',
  version,
  description: 'Command line of Steelyard, the control plane for racks of bare-metal servers',
  license: 'MPL-2.0',
  type: 'module',
  bin: { steelyard: 'steelyard.mjs' },
  files: ['steelyard.mjs'],
  engines: { node: '>=20' },
  publishConfig: { access: 'public' },
})

async function make(release: Release): Promise<string[]> {
  const { out, work, version } = release
  const source = await builtSource(release, version)
  const client = join(source, 'cli/dist/steelyard.mjs')
  copyFileSync(client, join(out, fileName(version)))
  chmodSync(join(out, fileName(version)), 0o755)

  const folder = join(work, 'cli-package')
  mkdirSync(folder)
  copyFileSync(client, join(folder, 'steelyard.mjs'))
  copyFileSync(join(source, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(
    join(folder, 'README.md'),
    '# steelyard\n\nThe command line of Steelyard. `steelyard login EMAIL --url URL` signs in, and `steelyard help` lists the commands.\n',
  )
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(version), null, 2)}\n`)
  // npm leaves the build metadata of a version out of the archive's name, or keeps it.
  const into = join(work, 'cli-packed')
  mkdirSync(into)
  await run('npm', ['pack', '--pack-destination', into, '--ignore-scripts'], { cwd: folder })
  const [packed] = readdirSync(into)
  renameSync(join(into, packed!), join(out, packageName(version)))
  return [fileName(version), packageName(version)]
}

/** Installs the package into an empty folder, and calls a running server with it. */
async function tryPackage(release: Release): Promise<void> {
  const { out, work, version, say } = release
  const folder = join(work, 'cli-installed')
  mkdirSync(folder)
  // The only package is the given file: nothing is asked of a registry.
  const how = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder]
  await run('npm', ['install', ...how, join(out, packageName(version))])
  const names = readdirSync(join(folder, 'node_modules'))
  assert.deepEqual(
    names.filter((name) => !name.startsWith('.')),
    ['@steelyard'],
  )
  const installed = join(folder, 'node_modules/.bin/steelyard')
  const single = join(out, fileName(version))
  assert.equal(
    readFileSync(single, 'utf8'),
    readFileSync(join(folder, 'node_modules/@steelyard/cli/steelyard.mjs'), 'utf8'),
  )
  // npm keeps no build metadata in the version of a package that it publishes, so the program has
  // its version inside.
  for (const program of [installed, single])
    assert.equal((await run(program, ['--version'])).trim(), `steelyard ${version}`)

  say('  calling a running server')
  const source = await builtSource(release, version)
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const server = await start(
    process.execPath,
    [join(source, 'backend/dist/main.js'), 'serve'],
    /^Steelyard is ready/,
    {
      env: {
        PORT: port,
        STEELYARD_DATA: join(work, 'cli-data'),
        STEELYARD_ADMIN_EMAIL: admin.email,
        STEELYARD_ADMIN_PASSWORD: admin.password,
      },
    },
  )
  try {
    const call = await signedIn(url)
    const { token } = await call(apiTokenCreate, {
      body: { name: 'release', scopes: ['datacenters:read'], lifetime_days: 1 },
    })
    const env = { PATH: process.env['PATH'], STEELYARD_URL: url, STEELYARD_TOKEN: token }
    const told = await run(installed, ['datacenter', 'list'], { env })
    assert.match(told, /release|datacenter/i)
    const wrong = { ...env, STEELYARD_TOKEN: 'sy-api-wrong' }
    const refused = await attempt(installed, ['datacenter', 'list'], { env: wrong })
    assert.notEqual(refused.code, 0)
  } finally {
    await server.stop()
  }
}

export const cliPackage: Artefact = { name: 'cli', make, test: tryPackage }
