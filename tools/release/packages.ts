/** Packages of npm for platforms other than this one: downloaded once, checked by the lockfile. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { demandRoom, type Release, ReleaseRefused, run } from './artefact.ts'

interface Locked {
  readonly packages: Readonly<Record<string, { version?: string; integrity?: string }>>
}

/** Whether a file has the hash that a lockfile gives (`sha512-…`, Subresource Integrity). */
export function hasIntegrity(file: Buffer, integrity: string): boolean {
  const [kind = '', wanted] = integrity.split(/-(.*)/s)
  return createHash(kind).update(file).digest('base64') === wanted
}

/**
 * The archive of a package in the version of the lockfile.
 * @throws ReleaseRefused if it has other content than the lockfile says
 */
async function archiveOf({ home, cache, say }: Release, name: string): Promise<string> {
  const { packages } = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8')) as Locked
  const locked = packages[`node_modules/${name}`]
  if (locked?.version === undefined || locked.integrity === undefined)
    throw new Error(`package-lock.json has no ${name}`)
  const file = join(cache, `${name.replace(/^@/, '').replace('/', '-')}-${locked.version}.tgz`)
  if (!existsSync(file)) {
    demandRoom(cache, 300e6)
    say(`  downloading ${name} ${locked.version}`)
    const into = mkdtempSync(join(cache, 'download-'))
    try {
      const args = ['pack', `${name}@${locked.version}`, '--json', '--pack-destination', into]
      const [{ filename } = { filename: '' }] = JSON.parse(
        await run('npm', [...args, '--prefer-offline', '--ignore-scripts'], { cwd: into }),
      ) as { filename: string }[]
      renameSync(join(into, filename), file)
    } finally {
      rmSync(into, { recursive: true, force: true })
    }
  }
  if (!hasIntegrity(readFileSync(file), locked.integrity)) {
    rmSync(file)
    throw new ReleaseRefused(
      `${name} ${locked.version} from the registry has other content than package-lock.json says. It was removed`,
    )
  }
  return file
}

/** Unpacks a package of npm into a folder. */
export async function unpackPackage(release: Release, name: string, into: string): Promise<void> {
  const archive = await archiveOf(release, name)
  mkdirSync(into, { recursive: true })
  await run('tar', ['-xzf', archive, '-C', into, '--strip-components=1', '--no-same-owner'])
}
