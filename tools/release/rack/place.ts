/** The surroundings of the rack's trial: certificates, a store, a network boot. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { run as startProgram } from '../../processes.ts'
import type { Release } from '../artefact.ts'
import { goProgram } from '../go-program.ts'
import type { Booted } from '../trial/booted.ts'

/** The page's network: `eno1` of the machine, and the page's first server at the cable's other end. */
export const network = [
  'ip link set lo up',
  'ip link add eno1 type veth peer name port1',
  'ip link set port1 address 52:54:00:0a:04:0b',
  'ip address add 10.0.4.2/24 dev eno1',
  'ip link set eno1 up',
  'ip link set port1 up',
].join('\n')

/** File of the authority that stands for a public one. */
export const authority = '/usr/local/share/ca-certificates/trial.crt'

/** Makes the authority, and a certificate of the page's name where the page names its files. */
export const makeCertificates = [
  'set -eu; cd /root; umask 077',
  'new="openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"',
  `$new -x509 -days 30 -subj "/CN=Authority of the trial" -keyout ca.key -out ${authority}`,
  '$new -subj /CN=steelyard.example.com -addext subjectAltName=DNS:steelyard.example.com -keyout /etc/steelyard/tls.key -out tls.csr',
  `openssl x509 -req -in tls.csr -CA ${authority} -CAkey ca.key -CAcreateserial -days 30 -copy_extensions copyall -out /etc/steelyard/tls.crt`,
  `chmod 0644 /etc/steelyard/tls.crt ${authority}; update-ca-certificates`,
].join('\n')

/**
 * What docs/install.md says in its text about a certificate, a port below 1024 and a store in
 * another folder: `chgrp` and `chmod` of the key, the folder, the lines of a drop-in, a restart.
 */
export function rightsOf(install: string): string {
  const section = /^### Install the package$[\s\S]*?(?=^### )/m.exec(install)?.[0] ?? ''
  const words = [...section.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!)
  const one = (pattern: RegExp): string => {
    const found = words.find((text) => pattern.test(text))
    assert.ok(found, `docs/install.md says nothing like ${String(pattern)}`)
    return found
  }
  const lines = [
    one(/^AmbientCapabilities=/),
    one(/^CapabilityBoundingSet=CAP_/),
    `${one(/^ReadWritePaths=$/)}${storeFolder}`,
  ]
  const folder = '/etc/systemd/system/steelyard.service.d'
  return [
    'set -eu',
    ...[/^chgrp /, /^chmod /].map((pattern) => `${one(pattern)} /etc/steelyard/tls.key`),
    one(/^install -d /),
    `mkdir -p ${folder}`,
    `printf '%s\\n' '[Service]' ${lines.map((line) => `'${line}'`).join(' ')} >${folder}/override.conf`,
    'systemctl daemon-reload',
    one(/^systemctl restart/),
  ].join('\n')
}

/** The folder that docs/install.md makes for backups. */
export const storeFolder = '/var/backups/steelyard'

/** An S3 service of its own in the machine's network, with the page's bucket and access key. */
export async function startStore(release: Release, { beside }: Booted, secret: string) {
  const program = await goProgram(release, 'github.com/versity/versitygw/cmd/versitygw@v1.8.0')
  const [data, meta] = ['data', 'meta'].map((name) => join(release.work, `store-${name}`))
  mkdirSync(join(data!, 'my-backups'), { recursive: true })
  mkdirSync(meta!)
  const port = 7070
  const line = `"$@" & until (: </dev/tcp/127.0.0.1/${port}) 2>/dev/null; do kill -0 $!; sleep 0.2; done; echo ready; trap "kill $!" TERM; wait`
  const [enter, ...words] = [...beside, 'bash', '-ec', line, 'bash', program]
  const options = ['--port', `127.0.0.1:${port}`, '--region', 'eu-central-1']
  const running = await startProgram(
    enter,
    [...words, ...options, 'posix', '--sidecar', meta!, data!],
    /^ready$/,
    { env: { ROOT_ACCESS_KEY: 'AKIA0', ROOT_SECRET_KEY: secret } },
  )
  return { url: `http://127.0.0.1:${port}`, stop: () => running.stop() }
}

/** DHCP options of what boots (RFC 4578, RFC 3004), with the file that it must be told. */
const firmware = [
  ['UEFI', '-x 0x5d:0007', 'snponly.efi'],
  ['BIOS', '-x 0x5d:0000', 'undionly.kpxe'],
  ['iPXE', '-x 0x5d:0007 -x 0x4d:69505845', 'http://10.0.4.2/boot.ipxe'],
] as const

/** Asks for an address as firmware and iPXE do. */
async function askForAddress(machine: Booted): Promise<void> {
  await machine.must(
    'cat >/root/keep; chmod +x /root/keep',
    '#!/bin/sh\n[ "$1" != bound ] || env >/root/lease\n',
  )
  for (const [name, options, file] of firmware) {
    await machine.must(`udhcpc -f -q -n -t 10 -T 1 -i port1 -s /root/keep ${options}`)
    const lease = await machine.must('cat /root/lease; rm /root/lease')
    const value = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(lease)?.[1]
    assert.deepEqual(
      [name, value('ip'), value('router'), value('siaddr'), value('boot_file')],
      [name, '10.0.4.11', '10.0.4.1', '10.0.4.2', file],
    )
  }
}

/**
 * Fetches what firmware and iPXE fetch, in their order, and returns the kernel command line with
 * which Talos would start.
 */
export async function bootByNetwork(machine: Booted): Promise<string> {
  await askForAddress(machine)
  for (const file of ['undionly.kpxe', 'snponly.efi'])
    await machine.must(
      `curl --silent --fail --output /root/${file} tftp://10.0.4.2/${file} && cmp /root/${file} /usr/lib/ipxe/${file}`,
    )
  const script = await machine.must(
    'curl --silent --fail --retry 30 --retry-delay 1 --retry-connrefused http://10.0.4.2/boot.ipxe',
  )
  const kernel = /^kernel (http:\/\/10\.0\.4\.2\/\S+) (.*)$/m.exec(script)
  const initramfs = /^initrd (http:\/\/10\.0\.4\.2\/\S+)$/m.exec(script)
  assert.ok(kernel && initramfs, script)
  assert.match(kernel[2]!, / initrd=initramfs-amd64\.xz$/)
  for (const [url, kind] of [
    [kernel[1]!, 'kernel'],
    [initramfs[1]!, 'initramfs'],
  ] as const)
    assert.match(
      await machine.must(`curl --silent --fail ${url}`),
      new RegExp(`^kind: ${kind}$`, 'm'),
    )
  return kernel[2]!
}
