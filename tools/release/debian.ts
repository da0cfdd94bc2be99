/** What comes from Debian's archives: a library that Node.js needs, and a bare system for tests. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { demandRoom, type Release, run } from './artefact.ts'

const suite = 'bookworm'

/** Lists and packages of another architecture than this machine's, apart from this machine's own. */
function aptOf(cache: string, architecture: string) {
  const folder = join(cache, `apt-${architecture}`)
  for (const name of ['lists/partial', 'archives/partial'])
    mkdirSync(join(folder, name), { recursive: true })
  const options = {
    'Dir::State::Lists': join(folder, 'lists'),
    'Dir::Cache': folder,
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
  }
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  return (args: readonly string[], cwd = folder) =>
    run('apt-get', ['--quiet', ...flags, ...args], { cwd })
}

/**
 * Puts `libatomic.so.1` into a folder, with its copyright. Node.js 26 for Linux is linked to it, and
 * a bare Debian doesn't have it. apt checks the signature of the archive.
 */
export async function unpackLibatomic(
  { cache, say }: Release,
  architecture: 'amd64' | 'arm64',
  into: string,
): Promise<void> {
  const kept = join(cache, `libatomic-${architecture}`)
  if (!existsSync(kept)) {
    say(`  downloading libatomic1 for ${architecture}`)
    const apt = aptOf(cache, architecture)
    const at = mkdtempSync(join(cache, 'download-'))
    try {
      await apt(['update'])
      await apt(['download', 'libatomic1', 'gcc-12-base'], at)
      for (const file of readdirSync(at).filter((name) => name.endsWith('.deb')))
        await run('dpkg-deb', ['--extract', join(at, file), join(at, 'root')])
      const made = join(at, 'made')
      mkdirSync(made)
      const triplet = readdirSync(join(at, 'root/usr/lib')).find((name) => name.includes('-'))
      copyFileSync(
        join(at, 'root/usr/lib', triplet!, 'libatomic.so.1'),
        join(made, 'libatomic.so.1'),
      )
      copyFileSync(
        join(at, 'root/usr/share/doc/gcc-12-base/copyright'),
        join(made, 'libatomic.copyright'),
      )
      cpSync(made, kept, { recursive: true })
    } finally {
      rmSync(at, { recursive: true, force: true })
    }
  }
  cpSync(kept, into, { recursive: true })
}

/**
 * A new folder with a bare Debian, by debootstrap from the archive that this machine itself uses.
 * Only root can make one.
 * @param more packages besides the least that Debian consists of
 */
export async function bareDebian(
  { cache, work, say }: Release,
  name: string,
  more: readonly string[] = [],
): Promise<string> {
  const packed = join(cache, `${['debian', suite, ...more].join('-')}.tar`)
  if (!existsSync(packed)) {
    demandRoom(cache, 1e9)
    say(`  making a bare Debian (${[suite, ...more].join(', ')})`)
    const making = mkdtempSync(join(cache, 'debian-'))
    try {
      const packages = more.length > 0 ? [`--include=${more.join(',')}`] : []
      await run('debootstrap', ['--variant=minbase', ...packages, suite, making, await mirror()])
      await run('tar', ['-cf', `${packed}.new`, '-C', making, '--exclude=./var/cache/apt/*', '.'])
      await run('mv', [`${packed}.new`, packed])
    } finally {
      rmSync(making, { recursive: true, force: true })
    }
  }
  const root = join(work, name)
  demandRoom(work, 1.5e9)
  mkdirSync(root)
  await run('tar', ['-xf', packed, '-C', root])
  // The archive has the rights of the temporary folder from which it was made.
  chmodSync(root, 0o755)
  return root
}

/** Address of the Debian archive in this machine's own settings, or the public one. */
async function mirror(): Promise<string> {
  const targets = await run('apt-get', [
    'indextargets',
    '--format',
    '$(CODENAME) $(REPO_URI)',
    'Created-By: Packages',
  ])
  const line = targets.split('\n').find((text) => text.startsWith(`${suite} `))
  return line?.split(' ')[1] ?? 'https://deb.debian.org/debian'
}
