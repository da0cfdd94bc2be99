/**
 * From boxes to a cluster: runs every command of docs/running/first-rack.md, taken out of the page,
 * on a bare Debian with the Debian package. The machine has the page's address in a network of its
 * own. Simulated servers stand for the rack: they boot with the kernel command line that iPXE reads
 * from the page's HTTP server, and announce themselves at the page's name over TLS.
 *
 * What can't be tried: firmware and its settings (a network boot is tried up to the files that
 * firmware and iPXE fetch: DHCP, TFTP, HTTP), a stick (dd writes into a file), and the certificate
 * of a public authority (one of the trial stands for it, which the simulated servers know).
 */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { control } from '../../processes.ts'
import { type Release, sha256 } from '../artefact.ts'
import { bareDebian } from '../debian.ts'
import { bootRoot } from '../trial/booted.ts'
import { admin, startFleet } from '../trial/fleet.ts'
import { commandsBelow, scriptOf } from '../trial/page.ts'
import { readPage, settingsOf } from './given.ts'
import {
  authority,
  bootByNetwork,
  makeCertificates,
  network,
  rightsOf,
  startStore,
  storeFolder,
} from './place.ts'

const packages = [
  'systemd',
  'systemd-sysv',
  'dnsmasq',
  'udhcpc',
  'ipxe',
  'curl',
  'ca-certificates',
  'openssl',
  'python3',
  'kubernetes-client',
]
const storeSecret = 'a secret key of the trial'
const settings = '/etc/steelyard/steelyard.env'
const count = 5

/** Node 20 or newer on the reader's machine: that of the package, because Debian 12 has Node 18. */
const node =
  '#!/bin/sh\nexport LD_LIBRARY_PATH=/usr/lib/steelyard/node/lib\nexec /usr/lib/steelyard/node/bin/node "$@"\n'

export async function tryRack(release: Release): Promise<void> {
  const { out, version, home, say, work } = release
  const install = readFileSync(join(home, 'docs/install.md'), 'utf8')
  const page = readPage(readFileSync(join(home, 'docs/running/first-rack.md'), 'utf8'))
  const root = await bareDebian(release, 'root-of-rack', packages)
  const file = `steelyard_${version.replace('-', '~')}_amd64.deb`
  copyFileSync(join(out, file), join(root, 'root', file))
  writeFileSync(
    join(root, 'root/SHA256SUMS'),
    `${await sha256(join(root, 'root', file))}  ${file}\n`,
  )
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n10.0.4.2 steelyard.example.com\n')
  writeFileSync(join(root, 'usr/local/bin/node'), node, { mode: 0o755 })
  mkdirSync(join(root, 'root/desk'))

  say('  booting the machine of Steelyard with the address 10.0.4.2, and installing')
  const machine = await bootRoot(root, network)
  const stops: (() => Promise<void>)[] = [() => machine.end()]
  try {
    const setting = (...lines: string[]) =>
      machine.must(`cat >>${settings}`, lines.map((line) => `${line}\n`).join(''))
    /** Commands of the reader, in a folder of theirs. */
    const desk = (lines: readonly string[], input?: string) =>
      machine.must(
        `export PATH=/usr/local/bin:$PATH STEELYARD_CA_FILE=${authority}\ncd /root/desk\nset -eu\n${lines.join('\n')}`,
        input,
      )
    const isReady = () =>
      machine.until('curl --silent --fail --output /dev/null https://steelyard.example.com/readyz')
    /** Repeats a command of the reader until its output matches. */
    const soon = async (line: string, wanted: RegExp) => {
      for (const end = Date.now() + 120_000; ;) {
        const said = await desk([line])
        if (wanted.test(said)) return
        if (Date.now() > end) throw new Error(`${line} still says:\n${said}`)
      }
    }
    const password = `${admin.password}\n`
    await machine.must(
      `cd\n${scriptOf(commandsBelow(install, 'Install the package'), version)}`,
      password,
    )
    await machine.must(makeCertificates)

    const resolver = join(work, 'resolv-of-rack')
    writeFileSync(resolver, 'nameserver 10.0.4.2\n')
    const fleet = await startFleet(release, 'fleet-of-rack', [
      ...machine.beside,
      'env',
      `NODE_EXTRA_CA_CERTS=${join(root, authority)}`,
      'unshare',
      '--mount',
      'sh',
      '-c',
      'mount --bind "$1" /etc/resolv.conf; shift; exec "$@"',
      'sh',
      resolver,
    ])
    stops.push(() => fleet.stop())
    const store = await startStore(release, machine, storeSecret)
    stops.push(() => store.stop())

    say('  2. the name and the certificate')
    page.replace({
      what: 'STEELYARD_DIAL_NETWORKS=10.0.4.0/24',
      by: 'STEELYARD_DIAL_NETWORKS=127.20.0.0/16',
      because: 'simulated servers have addresses of the loopback interface',
    })
    await setting(
      ...settingsOf(page.next('2. The name and the certificate')),
      ...Object.entries(fleet.settings)
        .filter(([name]) => name !== 'STEELYARD_DIAL_NETWORKS')
        .map(([name, value]) => `${name}=${value}`),
    )
    await machine.must(rightsOf(install))

    say('  3. the first sign-in')
    await isReady()
    const doctor = await machine.must('/usr/bin/steelyard doctor')
    assert.match(doctor, /Servers announce themselves at https:\/\/steelyard\.example\.com/)
    page.replace({
      what: /^steelyard login .*/g,
      by: '$& --password-stdin',
      because: 'the password is asked on a terminal',
    })
    await desk(page.next('3. Steelyard, and the first sign-in'), password)
    await desk(page.next('3. Steelyard, and the first sign-in'))

    say('  5. join token and image, by PXE and by ISO')
    const image = await desk(page.next('5. Join token and image'))
    const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(image)?.[0]
    assert.ok(id, `image create names no id: ${image}`)
    const iso = (await desk([`steelyard image show ${id} -o jsonpath={.url}`])).trim()
    page.replace(
      { what: '0198c0de-0000-7000-8000-000000000001', by: id, because: 'an id of an example' },
      {
        what: 'https://[^ ]*/image/',
        by: 'http://[^ ]*/image/',
        because: 'the simulated image factory speaks HTTP',
      },
      { what: 'ISO_LINK', by: iso, because: 'a placeholder' },
      {
        what: /^python3 -m http\.server .*/g,
        by: 'systemd-run --unit boot-files $&',
        because: 'it runs until it is ended',
      },
    )
    await desk(page.next('By PXE'))
    await machine.must(
      'cat >/etc/dnsmasq.d/rack.conf',
      `${page.next('By PXE', 'text').join('\n')}\n`,
    )
    assert.match(await desk(page.next('By PXE')), /syntax check OK/)
    const commandLine = await bootByNetwork(machine)
    await desk(page.next('By ISO or USB'))
    await machine.must('cmp /root/desk/metal-amd64.iso /dev/sdX')

    say('  6. servers arrive')
    const { servers } = await control<{ servers: { address: string }[] }>(fleet.socket, '/boot', {
      kernel_command_line: commandLine,
      count,
      datacenter: 'PL-POZ-1',
      hardware: 'dell-r650',
    })
    const eligible = 'steelyard server list --eligible true -o name'
    await soon(eligible, new RegExp(`^(?:\\S+\\n){${count}}$`))
    const arrived = await desk(page.next('6. Servers arrive'))
    assert.match(arrived, /dell/i)
    const names = (await desk([eligible])).trim().split('\n')
    const roles = ['cp-1', 'cp-2', 'cp-3', 'w-1', 'w-2']
    // The page names `server rename` for the names of its example.
    await desk(names.map((name, at) => `steelyard server rename ${name} ${roles[at]}`))

    say('  7. the first cluster')
    page.replace({
      what: '10.0.4.10',
      by: servers[0]!.address.replace(/\d+$/, '250'),
      because: 'a virtual IP is in the network of the control planes',
    })
    const [dryRun, create, ...more] = page.next('7. The first cluster')
    assert.deepEqual(more, [])
    await desk([dryRun!])
    assert.equal((await desk(['steelyard cluster list -o name'])).trim(), '')
    await desk([create!])
    const nodes = await desk(page.next('7. The first cluster'))
    assert.equal([...nodes.matchAll(/^(?:cp|w)-\d\s+Ready\b/gm)].length, count, nodes)

    say('  8. the first subnet and Service')
    await desk(page.next('8. The first subnet and Service'))
    await machine.until(
      'kubectl --kubeconfig /root/desk/web.kubeconfig get service hello | grep -F 203.0.113.',
    )
    await soon('steelyard subnet map edge-pool', /default\/hello/)

    say('  9. snapshots and backups')
    page.replace({
      what: 'https://s3.eu-central-1.amazonaws.com',
      by: store.url,
      because: 'a bucket in the internet',
    })
    await setting(
      'STEELYARD_STORE_NETWORKS=127.0.0.1/32',
      `STEELYARD_STORE_FOLDERS=${storeFolder}`,
      'STEELYARD_BACKUP_PASSPHRASE_FILE=/etc/steelyard/backup-passphrase',
    )
    await machine.must(
      'umask 077; cat >/etc/steelyard/backup-passphrase; chown steelyard /etc/steelyard/backup-passphrase; systemctl restart steelyard',
      'correct horse battery staple\n',
    )
    await isReady()
    writeFileSync(join(root, 'root/desk/key'), storeSecret, { mode: 0o600 })
    await desk(page.next('9. Snapshots and backups'))
    await desk(page.next('9. Snapshots and backups'))
    await desk([
      `steelyard store add local --folder ${storeFolder}/local`,
      'steelyard store test local',
    ])
    await soon('steelyard backup list --status ready --no-headers', /\S/)

    say('  11. what to check at the end')
    assert.match(await machine.must('/usr/bin/steelyard doctor'), /database/i)
    await desk(['steelyard cluster health web'])
    const last = await desk(page.next('11. What to check at the end'))
    assert.match(last, /^No findings\nNo operations\n[\s\S]*\sweb\s.*\sready\s/)
    page.end()
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}
