// What the trials of a release need of the machine. Plain JavaScript, because the machine's own
// Node.js runs `npm test`, which asks before it starts them.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findTestBrowser } from '../browsers.mjs'

/** Each program with its package of Debian. */
const programs = {
  'apt-get': 'apt',
  'dpkg-deb': 'dpkg',
  debootstrap: 'debootstrap',
  git: 'git',
  go: 'golang',
  ip: 'iproute2',
  nsenter: 'util-linux',
  pip3: 'python3-pip',
  'systemd-analyze': 'systemd',
}

/** Sentences about what is missing; empty if the trials can run. */
export function missingForRelease() {
  const isThere = (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
  const missing = Object.entries(programs).flatMap(([program, name]) =>
    isThere(program) ? [] : [`apt-get install ${name}`],
  )
  if (!findTestBrowser()) missing.push('apt-get install chromium')
  // The package also holds the keys that sign Debian's archive.
  if (!existsSync('/usr/share/keyrings/debian-archive-keyring.gpg'))
    missing.push('apt-get install debian-archive-keyring')
  if (process.getuid?.() !== 0) missing.push('run it as root, because it makes a bare Debian')
  return missing
}
