/**
 * Installs, starts, upgrades, removes and purges the Debian package as docs/install.md says, in a
 * bare Debian. systemd doesn't run there: the unit is checked by systemd's own program, and its
 * command is started as its user, with its environment.
 */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../processes.ts'
import { attempt, type Release, sha256 } from '../artefact.ts'
import { bareDebian } from '../debian.ts'
import {
  admin,
  beginCluster,
  isRunning,
  signedIn,
  signInByBrowser,
  startFleet,
  untilReady,
} from '../trial/fleet.ts'
import { buildNext } from '../trial/next.ts'
import { commandsBelow, scriptOf } from '../trial/page.ts'
import { inRoot, killAt, mustRun, startInRoot } from '../trial/root.ts'
import { readUnit } from './unit.ts'

const password = `${admin.password}\n`
const installed = '/usr/lib/steelyard'
const unitFile = '/usr/lib/systemd/system/steelyard.service'
/** Highest exposure by `systemd-analyze security`, in tenths; 100 is a service without limits. */
const mostExposed = 25

export async function tryDeb(
  release: Release,
  makeNext: (version: string, out: string) => Promise<string>,
): Promise<void> {
  const { out, version, home, say } = release
  const page = readFileSync(join(home, 'docs/install.md'), 'utf8')
  const root = await bareDebian(release, 'root-of-deb')
  const at = (path: string) => join(root, path)
  const place = async (name: string) => {
    writeFileSync(at('root/SHA256SUMS'), `${await sha256(at(`root/${name}`))}  ${name}\n`)
  }
  const section = (heading: string, as: string) => scriptOf(commandsBelow(page, heading), as)

  say('  installing')
  const file = `steelyard_${version.replace('-', '~')}_amd64.deb`
  copyFileSync(join(out, file), at(`root/${file}`))
  await place(file)
  await mustRun(root, section('Install the package', version), { input: password })
  const unit = readUnit(readFileSync(at(unitFile), 'utf8'))
  const id = Number(await mustRun(root, `id -u ${unit.user}`))
  for (const [path, owner, mode] of [
    ['/var/lib/steelyard', id, 0o700],
    ['/etc/steelyard', 0, 0o750],
    [unit.environmentFile, 0, 0o640],
    [`${installed}/steelyard`, 0, 0o755],
  ] as const) {
    const found = statSync(at(path))
    assert.deepEqual([path, found.uid, found.mode & 0o7777], [path, owner, mode])
  }
  await mustRun(root, `test "$(getent passwd ${unit.user} | cut -d: -f7)" = /usr/sbin/nologin`)

  say('  checking the unit')
  // The bare Debian has no systemd, so this machine's systemd looks at the unit.
  const copy = join(release.work, 'steelyard.service')
  const text = readFileSync(at(unitFile), 'utf8')
  writeFileSync(copy, text.replace('ExecStart=', `ExecStart=${root}`))
  const checked = await attempt('systemd-analyze', ['verify', copy])
  assert.deepEqual([checked.code, checked.err], [0, ''])
  const limits = ['security', '--offline=true', `--threshold=${mostExposed}`, '--no-pager']
  const exposure = await attempt('systemd-analyze', [...limits, at(unitFile)])
  assert.equal(exposure.code, 0, exposure.out)
  say(`  ${exposure.out.trim().split('\n').at(-1)}`)

  const fleet = await startFleet(release, 'fleet-of-deb')
  try {
    const settings = { ...fleet.settings, PORT: String(await freePort()) }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(at(unit.environmentFile), `# Of a test\n${lines.join('')}`)
    const how = { as: unit.user, env: { ...unit.environment, ...settings } }
    const prepare = unit.folders
      .map((folder) => `[ -d ${folder} ] || install -d -m 0700 -o ${unit.user} ${folder}`)
      .join('\n')
    const start = async () => {
      await mustRun(root, prepare)
      return startInRoot(root, `exec ${unit.command}`, how)
    }

    say('  starting the command of the unit as its user')
    const one = await start()
    await signInByBrowser(one.url)
    const doctor = await inRoot(root, '/usr/bin/steelyard doctor')
    assert.match(doctor.out + doctor.err, /database/i)
    const passphrase = '/etc/steelyard/backup-passphrase'
    await mustRun(root, `umask 077 && cat >${passphrase} && chown ${unit.user} ${passphrase}`, {
      input: password,
    })
    await mustRun(
      root,
      `install -d -o ${unit.user} /var/backups/steelyard && /usr/bin/steelyard backup /var/backups/steelyard/one --passphrase-file ${passphrase}`,
    )
    assert.equal(statSync(at('/var/backups/steelyard/one')).uid, id)

    const next = await buildNext(release)
    const nextFile = await makeNext(next, at('root'))
    await place(nextFile)
    const upgrade = section('Upgrade the package', next)

    say('  beginning a cluster; trouble: a full disk, an interruption')
    const begun = await beginCluster(await signedIn(one.url), fleet)
    assert.equal(await isRunning(await signedIn(one.url), begun), true)
    await one.stop()
    const room =
      'mount -t tmpfs -o size=400m tmpfs "$1/mnt" && cp -a "$1/usr/lib/steelyard/." "$1/mnt" && mount --move "$1/mnt" "$1/usr/lib/steelyard"'
    const full = await inRoot(
      root,
      `${upgrade.replace('set -eu', 'set -u')}\n/usr/bin/steelyard --version\ndpkg-query --show --showformat='\${Status} \${Version}' steelyard`,
      { before: room },
    )
    assert.match(full.err, /No space left on device/)
    assert.match(full.out, new RegExp(`steelyard ${escape(version)}\n`))
    assert.match(full.out, new RegExp(`install ok installed ${escape(version)}$`))
    await killAt(
      root,
      `exec dpkg --debug=100 --install /root/${nextFile}`,
      {},
      /backend\/dist\/main\.js/,
    )

    say(`  upgrading to ${next} during an operation`)
    await mustRun(root, upgrade)
    const two = await start()
    const seen = await mustRun(root, '/usr/bin/steelyard --version')
    assert.equal(seen.trim(), `steelyard ${next}`)
    assert.match(readFileSync(at(unit.environmentFile), 'utf8'), /^# Of a test$/m)
    await signInByBrowser(two.url)
    await untilReady(await signedIn(two.url), begun)
    await two.stop()

    say('  going back is refused by the program, and possible again for the package')
    await place(file)
    await mustRun(root, section('Upgrade the package', version))
    const older = await inRoot(root, `exec ${unit.command}`, how)
    assert.equal(older.code, 2)
    assert.match(
      older.err,
      /The database has schema \d+ .*start a newer Steelyard, or restore a backup/,
    )
    await place(nextFile)
    await mustRun(root, upgrade)
    await (await start()).stop()

    say('  a data folder of another account')
    await mustRun(root, 'chown root: /var/lib/steelyard')
    const foreign = await inRoot(root, `exec ${unit.command}`, how)
    assert.equal(foreign.code, 2)
    assert.match(foreign.err, /belongs to the user with the id 0: start Steelyard as that user/)
    await mustRun(root, 'chown -R steelyard: /var/lib/steelyard')

    say('  removing, then purging')
    const [remove, purge] = commandsBelow(page, 'Remove the package')
    await mustRun(root, remove!)
    assert.deepEqual(
      [installed, unit.environmentFile, '/var/lib/steelyard/postgres'].map((path) =>
        existsSync(at(path)),
      ),
      [false, true, true],
    )
    const words = await mustRun(root, purge!)
    assert.match(words, /data of Steelyard stays in \/var\/lib\/steelyard/)
    const left = await mustRun(
      root,
      "find / -xdev \\( -path /proc -o -path /root -o -path /var/lib/steelyard -o -path /var/backups \\) -prune -o -iname '*steelyard*' -print",
    )
    assert.equal(left.trim(), '')
  } finally {
    await fleet.stop()
  }
}

const escape = (text: string): string => text.replaceAll(/[.+]/g, '\\$&')
