/**
 * Installs, starts, upgrades and removes the archive as docs/install.md says: in a bare Debian, as
 * a user without rights.
 */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { freePort } from '../../processes.ts'
import { type Release, run, sha256 } from '../artefact.ts'
import { bareDebian } from '../debian.ts'
import {
  admin,
  beginCluster,
  isRunning,
  signedIn,
  signInByBrowser,
  startFleet,
  untilReady,
} from './fleet.ts'
import { buildNext } from './next.ts'
import { commandsBelow, scriptOf } from './page.ts'
import {
  clockRefused,
  inRoot,
  killAt,
  mustRun,
  type Started,
  startInRoot,
  unsetClock,
} from './root.ts'

const reader = 'reader'
const password = `${admin.password}\n`
const launcher = '~/steelyard/current/steelyard'

/** Signs in by the command line in the network namespace of a running Steelyard. */
async function useCommandLine(root: string, { child, url }: Started): Promise<void> {
  const inside = ['--target', String(child.pid), '--mount', '--net', '--']
  const asReader = ['chroot', `--userspec=${reader}:`, root, 'env', '-i', `HOME=/home/${reader}`]
  const login = `${launcher} login ${admin.email} --password-stdin --url ${url} && ${launcher} user list`
  const shell = ['PATH=/usr/bin:/bin', 'sh', '-c', login]
  const told = await run('nsenter', [...inside, ...asReader, ...shell], { input: password })
  assert.match(told, new RegExp(admin.email))
}

/** Machines that lack something: room for the data, the time, IPv4. */
async function tryMachines(
  root: string,
  start: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const small = { ...env, STEELYARD_DATA: `/home/${reader}/small` }
  await mustRun(root, 'mkdir ~/small', { as: reader })
  const full = await inRoot(root, start, {
    as: reader,
    env: small,
    before: `mount -t tmpfs -o size=20m,mode=0700,uid=$(stat -c %u "$1/home/${reader}"),gid=$(stat -c %g "$1/home/${reader}") tmpfs "$1/home/${reader}/small"`,
  })
  assert.equal(full.code, 1)
  assert.match(full.err, /The disk with \S+ is full: make room/)

  const early = await inRoot(root, start, { as: reader, env: { ...small, ...unsetClock } })
  assert.equal(early.code, 1)
  assert.match(early.err, clockRefused)

  const other = {
    STEELYARD_DATA: `/home/${reader}/other`,
    STEELYARD_ADMIN_EMAIL: admin.email,
    STEELYARD_ADMIN_PASSWORD: admin.password,
  }
  const alone = { as: reader, offline: true, before: 'ip address delete 127.0.0.1/8 dev lo' }
  const lacking = await inRoot(root, start, { ...alone, env: other })
  assert.equal(lacking.code, 1)
  assert.match(lacking.err, /no interface of this machine has that address: set HOST/)
  const six = await startInRoot(root, start, { ...alone, env: { ...other, HOST: '::1' } })
  assert.match(six.url, /^http:\/\/\[::1\]:/)
  await useCommandLine(root, six)
  await six.stop()
}

export async function tryTarball(
  release: Release,
  packNext: (version: string, out: string) => Promise<string>,
): Promise<void> {
  const { out, version, say } = release
  const page = readFileSync(join(release.home, 'docs/install.md'), 'utf8')
  const root = await bareDebian(release, 'root-of-archive')
  await mustRun(root, `useradd --create-home --shell /bin/sh ${reader}`)
  const home = join(root, 'home', reader)
  const archive = `steelyard-${version}-linux-x64.tar.gz`
  for (const name of [archive, 'SHA256SUMS']) copyFileSync(join(out, name), join(home, name))
  const section = (heading: string, as: string) => scriptOf(commandsBelow(page, heading), as)

  say('  installing without a network, as a user without rights')
  const first = await startInRoot(root, section('Install the archive', version), {
    as: reader,
    input: password,
    offline: true,
  })
  await useCommandLine(root, first)
  await first.stop()

  say('  signing in with a browser')
  const fleet = await startFleet(release, 'fleet-of-archive')
  try {
    const env = { ...fleet.settings, PORT: String(await freePort()) }
    const start = section('Upgrade the archive', version).split('\n').at(-1)!
    const one = await startInRoot(root, start, { as: reader, env })
    await signInByBrowser(one.url)

    say('  trouble: a taken port, a folder of another user, full disks, a clock, no IPv4')
    const elsewhere = { ...env, STEELYARD_DATA: `/home/${reader}/elsewhere` }
    const taken = await inRoot(root, start, { as: reader, env: elsewhere })
    assert.equal(taken.code, 1)
    assert.match(taken.err, /port \d+ is in use by another program: stop that program, or set PORT/)
    await mustRun(root, 'install -d -m 0700 /srv/other')
    const foreign = { ...env, STEELYARD_DATA: '/srv/other' }
    const refused = await inRoot(root, start, { as: reader, env: foreign })
    assert.equal(refused.code, 2)
    assert.match(refused.err, /\/srv\/other.*belongs to the user with the id 0: start Steelyard as/)

    await tryMachines(root, start, env)

    const next = await buildNext(release)
    const nextArchive = await packNext(next, home)
    writeFileSync(
      join(home, 'SHA256SUMS'),
      `${await sha256(join(home, nextArchive))}  ${nextArchive}\n`,
    )
    const unpacked = `~/steelyard/${basename(nextArchive, '.tar.gz')}`
    const upgrade = section('Upgrade the archive', next).split('\n')
    const replace = upgrade.slice(0, -1).join('\n')
    const full = await inRoot(root, replace.replace(/^ln .*$/m, ''), {
      as: reader,
      before: `mount -t tmpfs -o size=100m,mode=0777 tmpfs "$1/home/${reader}/steelyard"`,
    })
    assert.notEqual(full.code, 0)
    assert.match(full.err, /No space left on device/)
    await killAt(
      root,
      `tar -xvzf ~/${nextArchive} -C ~/steelyard`,
      { as: reader },
      /node\/bin\/node/,
    )
    const part = await inRoot(root, `${unpacked}/steelyard serve`, { as: reader, env })
    assert.notEqual(part.code, 0)
    assert.match(part.err, /not found/)

    say(`  upgrading to ${next} during an operation, with a kill at its first start`)
    const begun = await beginCluster(await signedIn(one.url), fleet)
    assert.equal(await isRunning(await signedIn(one.url), begun), true)
    await one.stop()
    await mustRun(root, replace, { as: reader })
    await killAt(root, start, { as: reader, env }, /database|\S/)
    const two = await startInRoot(root, start, { as: reader, env })
    assert.equal(
      (await mustRun(root, `${launcher} --version`, { as: reader })).trim(),
      `steelyard ${next}`,
    )
    await signInByBrowser(two.url)
    await untilReady(await signedIn(two.url), begun)
    await two.stop()

    say('  going back is refused')
    await mustRun(root, replace.replaceAll(next, version).replace(/^sha256sum.*$/m, ''), {
      as: reader,
    })
    const older = await inRoot(root, start, { as: reader, env })
    assert.equal(older.code, 2)
    assert.match(
      older.err,
      /The database has schema \d+ .*start a newer Steelyard, or restore a backup/,
    )

    say('  removing')
    await mustRun(root, section('Remove the archive', version), { as: reader })
    assert.equal(existsSync(join(home, 'steelyard')), false)
    const data = join(home, '.local/share/steelyard')
    assert.equal(existsSync(join(data, 'postgres')), true)
    await mustRun(root, /`(rm -r ~\/\.local\/\S+)`/.exec(page)![1]!, { as: reader })
    assert.equal(existsSync(data), false)
  } finally {
    await fleet.stop()
  }
}
