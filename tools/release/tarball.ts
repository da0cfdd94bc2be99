/**
 * An archive for each platform that starts without a registry and without a network:
 * `steelyard-VERSION-PLATFORM.tar.gz` with one folder of that name.
 */
import { readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { type Artefact, demandRoom, type Release, run } from './artefact.ts'
import { programFolder } from './program.ts'
import { checkContents } from './trial/contents.ts'
import { tryTarball } from './trial/tarball.ts'

/** What a folder and its archive take. */
const neededBytes = 600e6

/** Everything below a folder, the launcher last, so that a part of the archive can't be started. */
function entries(folder: string): string[] {
  const launcher = join(folder, 'steelyard')
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => name !== launcher)
    .toSorted((a, b) => (a < b ? -1 : 1))
  return [folder, ...all, launcher]
}

/** Packs a folder: the same files give the same bytes. */
async function pack(
  { out, epochSeconds }: Pick<Release, 'out' | 'epochSeconds'>,
  folder: string,
): Promise<string> {
  const name = `${basename(folder)}.tar.gz`
  const list = entries(folder).map((entry) => relative(dirname(folder), entry))
  await run(
    'tar',
    [
      '-C',
      dirname(folder),
      '--use-compress-program=gzip -n',
      `--mtime=@${epochSeconds}`,
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--mode=u+w,a+rX,go-w',
      '--format=gnu',
      '--no-recursion',
      '--null',
      '--files-from=-',
      '-cf',
      join(out, name),
    ],
    { input: list.join('\0') },
  )
  return name
}

export const tarball: Artefact = {
  name: 'tarball',
  async make(release) {
    const names: string[] = []
    for (const platform of release.platforms) {
      for (const folder of [release.work, release.out]) demandRoom(folder, neededBytes)
      names.push(await pack(release, await programFolder(release, platform)))
    }
    return names
  },
  async test(release) {
    for (const platform of release.platforms) await checkContents(release, platform)
    await tryTarball(release, async (version, out) =>
      pack({ ...release, out }, await programFolder(release, 'linux-x64', version)),
    )
  },
}
