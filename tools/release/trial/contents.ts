/** What the archive of a platform contains, also of one that can't be started here. */
import assert from 'node:assert/strict'
import { closeSync, mkdirSync, openSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Release, run } from '../artefact.ts'
import { type Platform, platforms } from '../platforms.ts'

/** Numbers of processors in a program's header: ELF, `e_machine`; Mach-O, `cputype`. */
const machines = {
  'linux-x64': 0x3e,
  'linux-arm64': 0xb7,
  'darwin-x64': 0x0100_0007,
  'darwin-arm64': 0x0100_000c,
} as const satisfies Record<Platform, number>
const elf = 0x7f45_4c46
/** Of a file for one processor in its byte order, and of one for several. */
const machO = { one: 0xcffa_edfe, several: 0xcafe_babe }

/** The processors that a program is for, by the first bytes of its file. */
export function machinesOf(header: Buffer): number[] {
  const magic = header.readUInt32BE(0)
  if (magic === elf) return [header.readUInt16LE(18)]
  if (magic === machO.one) return [header.readUInt32LE(4)]
  if (magic !== machO.several) return []
  // Entries of 20 bytes follow the number of them (mach-o/fat.h).
  return Array.from({ length: header.readUInt32BE(4) }, (_, at) => header.readUInt32BE(8 + at * 20))
}

function headerOf(file: string): Buffer {
  const header = Buffer.alloc(64)
  const descriptor = openSync(file, 'r')
  readSync(descriptor, header)
  closeSync(descriptor)
  return header
}

/** @throws AssertionError if something is missing, or is for another machine */
export async function checkContents(
  { out, work, version }: Release,
  platform: Platform,
): Promise<void> {
  const name = `steelyard-${version}-${platform}`
  const archive = join(out, `${name}.tar.gz`)
  const { postgres, argon2, debian } = platforms[platform]
  const native = `node_modules/${postgres}/native/bin`
  const names = (await run('tar', ['-tzf', archive])).trim().split('\n')
  assert.equal(names.at(-1), `${name}/steelyard`)
  const addition = names.find((file) => file.includes(`/${argon2}/`) && file.endsWith('.node'))
  assert.ok(addition, `${archive} has no ${argon2}`)
  const programs = ['node/bin/node', `${native}/postgres`, `${native}/initdb`, `${native}/pg_ctl`]
  const others = [
    'backend/dist/main.js',
    'cli/dist-installed/steelyard.mjs',
    'cli/dist/steelyard.mjs',
    'console/dist/index.html',
    'docs/dist/index.html',
    'docs/install.md',
    'LICENSE',
    'THIRD-PARTY-LICENSES',
    ...(debian === null ? [] : ['node/lib/libatomic.so.1', 'node/lib/libatomic.copyright']),
  ]
  const missing = [...programs, ...others].filter((file) => !names.includes(`${name}/${file}`))
  assert.deepEqual(missing, [], archive)

  const into = join(work, 'contents')
  mkdirSync(into)
  const binaries = [...programs.map((file) => `${name}/${file}`), addition]
  await run('tar', ['-xzf', archive, '-C', into, ...binaries])
  for (const file of binaries)
    assert.ok(
      machinesOf(headerOf(join(into, file))).includes(machines[platform]),
      `${file} isn't for ${platform}`,
    )
  rmSync(into, { recursive: true })
}
