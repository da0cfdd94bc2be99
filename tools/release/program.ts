/**
 * The folder that a release installs: the built program, console and command line, one Node.js, and
 * PostgreSQL, with nothing to download and nothing to build.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type Release } from './artefact.ts'
import { builtSource } from './build.ts'
import { unpackLibatomic } from './debian.ts'
import { unpackPackage } from './packages.ts'
import { type Platform, platforms } from './platforms.ts'

const made = new Map<string, Promise<string>>()

/**
 * A folder named `steelyard-VERSION-PLATFORM`, made once. Tarball, package and image have its
 * content.
 */
export function programFolder(
  release: Release,
  platform: Platform,
  version = release.version,
): Promise<string> {
  const name = `steelyard-${version}-${platform}`
  const found = made.get(name) ?? make(release, platform, version, join(release.work, name))
  made.set(name, found)
  return found
}

/** Links between libraries, which npm can't pack; the package lists them. */
function linkLibraries(root: string): void {
  const links = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    rmSync(join(root, target), { force: true })
    symlinkSync(relative(dirname(join(root, target)), join(root, source)), join(root, target))
  }
}

async function make(
  release: Release,
  platform: Platform,
  version: string,
  folder: string,
): Promise<string> {
  const source = await builtSource(release, version)
  const { machine, debian, node, postgres, argon2 } = platforms[platform]
  mkdirSync(folder)
  for (const part of [
    'LICENSE',
    'CHANGELOG.md',
    'docs',
    'console/dist',
    'backend/dist',
    'cli/dist',
    'cli/dist-installed',
  ])
    cpSync(join(source, part), join(folder, part), { recursive: true })
  const packages = join(folder, 'node_modules')
  await unpackPackage(release, node, join(folder, 'node'))
  for (const rest of readdirSync(join(folder, 'node')))
    if (rest !== 'bin' && rest !== 'LICENSE')
      rmSync(join(folder, 'node', rest), { recursive: true })
  if (debian !== null) await unpackLibatomic(release, debian, join(folder, 'node/lib'))
  for (const name of [postgres, argon2, '@node-rs/argon2'])
    await unpackPackage(release, name, join(packages, name))
  linkLibraries(join(packages, postgres))
  const programs = join(packages, postgres, 'native/bin')
  for (const program of readdirSync(programs)) chmodSync(join(programs, program), 0o755)
  chmodSync(join(folder, 'node/bin/node'), 0o755)
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ name: 'steelyard', version, license: 'MPL-2.0', private: true, type: 'module' }, null, 2)}\n`,
  )
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licences(release.home))
  const { config } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as {
    config: { nodeFlags: string[] }
  }
  writeFileSync(
    join(folder, 'steelyard'),
    readFileSync(join(import.meta.dirname, 'launcher.sh'), 'utf8')
      .replace('@MACHINE@', machine)
      .replace('@PLATFORM@', platform)
      .replace('@LIBRARY@', debian === null ? '' : 'libatomic.so.1')
      .replace('@FLAGS@', config.nodeFlags.join(' ')),
    { mode: 0o755 },
  )
  return folder
}

/** The licences of all packages that are bundled or included. */
function licences(home: string): string {
  const { packages } = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { version?: string; license?: string; dev?: boolean }>>
  }
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true && existsSync(join(home, path)))
    .map(([path, { version, license }]) => {
      const texts = readdirSync(join(home, path))
        .filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name))
        .map((name) => join(home, path, name))
        .map((file) => readFileSync(file, 'utf8').trim())
      const name = path.replace(/^.*node_modules\//, '')
      return [`${name} ${version ?? ''}: ${license ?? 'see below'}`, ...texts].join('\n\n')
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`)
}
