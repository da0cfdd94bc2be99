/**
 * Starts the image of this machine's processor from its unpacked root as a runtime does, uses it,
 * and upgrades it.
 */
import assert from 'node:assert/strict'
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { datacenterCreate, datacenterGet } from '#contract/datacenters.ts'
import { freePort } from '../../processes.ts'
import { type Release, run } from '../artefact.ts'
import {
  admin,
  beginCluster,
  type Fleet,
  isRunning,
  signedIn,
  signInByBrowser,
  startFleet,
  untilReady,
} from '../trial/fleet.ts'
import { clockRefused, unsetClock } from '../trial/root.ts'
import {
  type How,
  makeVolume,
  runInContainer,
  startContainer,
  type Unpacked,
  unpackImage,
} from './container.ts'
import { userId } from './root.ts'

/** The files that the kernel can run, without the libraries. */
const programs = [
  'bin/sh',
  'lib/ld',
  'opt/steelyard/cli/dist-installed/steelyard.mjs',
  'opt/steelyard/cli/dist/steelyard.mjs',
  'opt/steelyard/node/bin/node',
  'opt/steelyard/postgres/initdb',
  'opt/steelyard/postgres/pg_ctl',
  'opt/steelyard/postgres/postgres',
  'usr/bin/steelyard',
]

/** Names of the programs in the root, without versions and platforms. */
async function programsIn(root: string): Promise<string[]> {
  const found = await run('find', ['.', '-type', 'f', '-perm', '/111', '-printf', '%P\n'], {
    cwd: root,
  })
  return found
    .trim()
    .split('\n')
    .map((name) =>
      name
        .replace(/^(?:usr\/)?lib\/.*\/ld-[^/]+$/, 'lib/ld')
        .replace(/opt\/steelyard\/node_modules\/.*\/bin\//, 'opt/steelyard/postgres/'),
    )
    .filter((name) => !/\.so(?:\.[\d.]+)?$|\.node$/.test(name))
    .toSorted((a, b) => (a < b ? -1 : 1))
}

/** Nothing in the container starts a program by the name of a shell, but initdb PostgreSQL. */
async function tryShell(image: Unpacked, how: How): Promise<void> {
  assert.deepEqual(await programsIn(image.root), programs)
  const setuid = await run('find', ['.', '-perm', '/6000', '-type', 'f'], { cwd: image.root })
  assert.equal(setuid, '')
  for (const line of [
    'echo hello',
    '"/opt/steelyard/node/bin/node" -e 1',
    '"/var/lib/steelyard/bin/postgres" -V',
    '"/opt/steelyard/node_modules/x/../../../tmp/bin/postgres" -V',
    'locale; echo hello',
    'x=$(id)',
  ]) {
    const { code, out } = await runInContainer(image, ['/bin/sh', '-c', line], how)
    assert.notEqual(code, 0, line)
    assert.equal(out, '', line)
  }
}

/** What a wrong start says. */
async function tryTrouble(image: Unpacked, how: How): Promise<void> {
  const open = await runInContainer(image, image.process.args, how)
  assert.equal(open.code, 2)
  assert.match(open.err, /HOST is 0\.0\.0\.0, which others can reach: set STEELYARD_TLS_CERT/)
  const early = await runInContainer(image, image.process.args, { ...how, env: unsetClock })
  assert.equal(early.code, 1)
  assert.match(early.err, clockRefused)
  // A volume that the user may not write to, as without `fsGroup`.
  const foreign = `${how.volume}-foreign`
  mkdirSync(foreign, { mode: 0o755 })
  const refused = await runInContainer(image, image.process.args, {
    ...how,
    env: { STEELYARD_INSECURE: '1' },
    volume: foreign,
  })
  assert.equal(refused.code, 2)
  assert.match(refused.err, /STEELYARD_DATA is .*can't be written to.*belongs to the user with/)
}

interface Next {
  readonly version: string
  readonly archive: string
}

/** @param makeNext makes the image of the next version */
export async function tryImage(release: Release, makeNext: () => Promise<Next>): Promise<void> {
  const { out, version, work, say } = release
  const name = `steelyard-${version}-image-linux-${process.arch}.tar`
  say('  unpacking')
  const image = await unpackImage(release, join(out, name), version)
  const { uid, gid } = image.process.user
  assert.deepEqual({ uid, gid }, { uid: userId, gid: userId })
  const volume = makeVolume(join(work, 'volume'))
  await tryShell(image, { volume })
  await tryTrouble(image, { volume })

  const fleet = await startFleet(release, 'fleet-of-image')
  try {
    await useImage(release, image, volume, fleet, makeNext)
  } finally {
    await fleet.stop()
  }
}

/** Uses a container, kills it, and upgrades it while a cluster is created. */
async function useImage(
  release: Release,
  image: Unpacked,
  volume: string,
  fleet: Fleet,
  makeNext: () => Promise<Next>,
): Promise<void> {
  const { work, say } = release
  const env = { HOST: '127.0.0.1', PORT: String(await freePort()), ...fleet.settings }
  const how = { volume, env }
  const user = ['/usr/bin/steelyard', 'user', 'add', '--first', admin.email]
  const added = await runInContainer(image, user, { ...how, input: `${admin.password}\n` })
  assert.equal(added.code, 0, added.err)
  say('  signing in with a browser; adding a datacenter')
  const one = await startContainer(image, how)
  assert.match(readFileSync(`/proc/${one.pid}/status`, 'utf8'), /^CapEff:\s+0+$/m)
  assert.equal((await fetch(`${one.url}/healthz`)).status, 200)
  assert.equal((await fetch(`${one.url}/readyz`)).status, 200)
  await signInByBrowser(one.url)
  const body = { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' }
  const { id } = await (await signedIn(one.url))(datacenterCreate, { body })

  say('  killing it, and starting it again')
  await one.end('SIGKILL')
  const again = await startContainer(image, how)
  const call = await signedIn(again.url)
  await call(datacenterGet, { params: { id } })

  const next = await makeNext()
  const newer = await unpackImage(release, next.archive, next.version)
  say('  beginning a cluster')
  const begun = await beginCluster(call, fleet)
  assert.equal(await isRunning(call, begun), true)
  assert.equal(await again.end('SIGTERM'), 0)

  say('  the key as a secret that root mounts')
  const files = join(work, 'secret')
  mkdirSync(files)
  copyFileSync(join(volume, 'key'), join(files, 'key'))
  await run('chown', ['-R', `0:${userId}`, files])
  await run('chmod', ['0440', join(files, 'key')])
  rmSync(join(volume, 'key'))
  const secret = { ...how, files, env: { ...how.env, STEELYARD_KEY_FILE: '/etc/steelyard/key' } }

  say(`  upgrading to ${next.version} during an operation`)
  const two = await startContainer(newer, secret)
  const cli = await runInContainer(newer, ['/usr/bin/steelyard', '--version'], { volume })
  assert.equal(cli.out.trim(), `steelyard ${next.version}`)
  await signInByBrowser(two.url)
  const callNewer = await signedIn(two.url)
  await callNewer(datacenterGet, { params: { id } })
  await untilReady(callNewer, begun)
  assert.equal(await two.end('SIGTERM'), 0)
  assert.deepEqual(globSync('postgres/postmaster.pid', { cwd: volume }), [])

  say('  going back is refused')
  const older = await runInContainer(image, image.process.args, secret)
  assert.equal(older.code, 2)
  assert.match(older.err, /The database has schema \d+ .*start a newer Steelyard/)
}
