/**
 * The package on a Debian whose process 1 is systemd, as on a machine: systemd starts, guards,
 * upgrades and removes the service, within the limits of its unit.
 */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../processes.ts'
import { type Release, sha256 } from '../artefact.ts'
import { bareDebian } from '../debian.ts'
import { bootRoot } from '../trial/booted.ts'
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

const settings = '/etc/steelyard/steelyard.env'

export async function tryService(
  release: Release,
  makeNext: (version: string, out: string) => Promise<string>,
): Promise<void> {
  const { out, version, home, say } = release
  const page = readFileSync(join(home, 'docs/install.md'), 'utf8')
  const section = (heading: string, as: string) => scriptOf(commandsBelow(page, heading), as)
  const root = await bareDebian(release, 'root-of-service', ['systemd', 'systemd-sysv'])
  const at = (path: string) => join(root, path)
  const place = async (name: string) => {
    writeFileSync(at('root/SHA256SUMS'), `${await sha256(at(`root/${name}`))}  ${name}\n`)
  }
  const file = `steelyard_${version.replace('-', '~')}_amd64.deb`
  copyFileSync(join(out, file), at(`root/${file}`))
  await place(file)

  const fleet = await startFleet(release, 'fleet-of-service')
  // The page's first start is on the port 8080, which this machine may use already.
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const given = Object.entries({ ...fleet.settings, PORT: port })
  mkdirSync(at('etc/systemd/system.conf.d'))
  writeFileSync(
    at('etc/systemd/system.conf.d/trial.conf'),
    `[Manager]\nDefaultEnvironment=${given.map(([name, value]) => `${name}=${value}`).join(' ')}\n`,
  )
  say('  booting a Debian with systemd, and installing')
  const machine = await bootRoot(root)
  try {
    const isReady = () =>
      machine.until(
        `systemctl is-active --quiet steelyard && journalctl --unit steelyard --output cat _SYSTEMD_INVOCATION_ID=$(systemctl show --property InvocationID --value steelyard) | grep '^Steelyard is ready at ${url}$'`,
      )
    const property = async (name: string) =>
      (await machine.must(`systemctl show --property ${name} --value steelyard`)).trim()
    await machine.must(`cd\n${section('Install the package', version)}`, `${admin.password}\n`)
    await isReady()
    assert.equal((await machine.must('systemctl is-enabled steelyard')).trim(), 'enabled')
    const limits = await machine.must(`cat /proc/${await property('MainPID')}/status`)
    assert.match(limits, /^CapEff:\s+0+$/m)
    assert.match(limits, /^NoNewPrivs:\s+1$/m)
    assert.match(limits, /^Seccomp:\s+2$/m)
    await signInByBrowser(url)

    say('  killing it; wrong settings; a port that is taken')
    await machine.must(`kill -9 ${await property('MainPID')}`)
    await machine.until(`test "$(systemctl show --property NRestarts --value steelyard)" = 1`)
    await isReady()
    await machine.must(`cp ${settings} /root/kept; echo PORT=x >>${settings}`)
    await machine.must('systemctl restart steelyard')
    await machine.until('systemctl is-failed --quiet steelyard')
    assert.deepEqual([await property('ExecMainStatus'), await property('NRestarts')], ['2', '0'])
    const journal = 'journalctl --unit steelyard --output cat'
    await machine.until(`${journal} | grep 'PORT must be a number from 0 to 65535, not x'`)
    const taken = new URL(fleet.settings['IMAGE_FACTORY_URL']!).port
    await machine.must(`cp /root/kept ${settings}; echo PORT=${taken} >>${settings}`)
    await machine.must('systemctl restart steelyard')
    await machine.until(`${journal} | grep 'port ${taken} is in use by another program'`)
    await machine.must(`cat /root/kept >${settings}; systemctl restart steelyard`)
    await isReady()

    const next = await buildNext(release)
    const nextFile = await makeNext(next, at('root'))
    await place(nextFile)
    say(`  upgrading to ${next} during an operation`)
    const begun = await beginCluster(await signedIn(url), fleet)
    assert.equal(await isRunning(await signedIn(url), begun), true)
    await machine.must(`cd\n${section('Upgrade the package', next)}`)
    await isReady()
    assert.equal((await machine.must('/usr/bin/steelyard --version')).trim(), `steelyard ${next}`)
    await signInByBrowser(url)
    await untilReady(await signedIn(url), begun)

    say('  going back: systemd does not start the refusing program again')
    await place(file)
    await machine.must(`cd\n${section('Upgrade the package', version)}`)
    await machine.until('systemctl is-failed --quiet steelyard')
    assert.deepEqual([await property('ExecMainStatus'), await property('NRestarts')], ['2', '0'])
    await machine.until(`${journal} | grep 'The database has schema .* start a newer Steelyard'`)
    await place(nextFile)
    await machine.must(`cd\n${section('Upgrade the package', next)}`)
    await isReady()

    say('  removing, then purging')
    const [remove, purge] = commandsBelow(page, 'Remove the package')
    await machine.must(remove!)
    assert.equal(await property('ActiveState'), 'inactive')
    assert.notEqual((await machine.run('systemctl is-enabled steelyard')).code, 0)
    await machine.must(purge!)
    const { out: units } = await machine.run('systemctl list-unit-files --no-legend "steelyard*"')
    assert.equal(units, '')
  } finally {
    await machine.end()
    await fleet.stop()
  }
}
