/**
 * Packages for Debian and Ubuntu, made by nfpm (https://nfpm.goreleaser.com), which needs neither
 * Debian nor root: `steelyard_VERSION_ARCHITECTURE.deb`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Artefact, type Release, run } from '../artefact.ts'
import { goProgram } from '../go-program.ts'
import { type Platform, platforms } from '../platforms.ts'
import { programFolder } from '../program.ts'
import { tryRack } from '../rack/try-rack.ts'
import { tryDeb } from './try-deb.ts'
import { tryService } from './try-service.ts'

const nfpm = 'github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2'

/**
 * What nfpm reads (nfpm.goreleaser.com/configuration). Its YAML is written as JSON. dpkg orders
 * `1.0.0+test` after `1.0.0`, and `1.0.0~rc1` before `1.0.0`.
 */
export const nfpmSettings = (
  { home, epochSeconds }: Pick<Release, 'home' | 'epochSeconds'>,
  folder: string,
  arch: string,
  version: string,
) => ({
  name: 'steelyard',
  arch,
  version: version.replace('-', '~'),
  version_schema: 'none',
  section: 'admin',
  priority: 'optional',
  maintainer: 'Steelyard <steelyard@localhost>',
  description:
    'Console and control plane of bare-metal servers.\nTurns servers that boot Talos Linux into Kubernetes clusters. Contains its own Node.js and PostgreSQL.',
  license: 'MPL-2.0',
  depends: ['libc6 (>= 2.28)', 'libgcc-s1', 'libstdc++6', 'passwd', 'util-linux'],
  mtime: new Date(epochSeconds * 1000).toISOString(),
  umask: 0o22,
  contents: [
    { src: folder, dst: '/usr/lib/steelyard', type: 'tree' },
    {
      src: join(home, 'deploy/systemd/command.sh'),
      dst: '/usr/bin/steelyard',
      file_info: { mode: 0o755 },
    },
    {
      src: join(home, 'deploy/systemd/steelyard.service'),
      dst: '/usr/lib/systemd/system/steelyard.service',
      file_info: { mode: 0o644 },
    },
    {
      src: join(home, 'deploy/systemd/steelyard.env'),
      dst: '/etc/steelyard/steelyard.env',
      type: 'config|noreplace',
      file_info: { mode: 0o640 },
    },
    {
      src: join(folder, 'THIRD-PARTY-LICENSES'),
      dst: '/usr/share/doc/steelyard/copyright',
      file_info: { mode: 0o644 },
    },
  ],
  scripts: Object.fromEntries(
    Object.entries({ postinstall: 'postinst', preremove: 'prerm', postremove: 'postrm' }).map(
      ([key, name]) => [key, join(home, `tools/release/deb/${name}.sh`)],
    ),
  ),
  deb: { compression: 'gzip' },
})

/** Makes the package of a platform and version. Returns the file's name. */
export async function makeDeb(
  release: Release,
  platform: Platform,
  version: string,
  out: string,
): Promise<string> {
  const arch = platforms[platform].debian
  if (arch === null) throw new Error(`There is no Debian for ${platform}`)
  const folder = await programFolder(release, platform, version)
  const settings = join(release.work, `nfpm-${version}-${arch}.yaml`)
  writeFileSync(settings, JSON.stringify(nfpmSettings(release, folder, arch, version)))
  const name = `steelyard_${version.replace('-', '~')}_${arch}.deb`
  await run(await goProgram(release, nfpm), [
    'package',
    '--config',
    settings,
    '--packager',
    'deb',
    '--target',
    join(out, name),
  ])
  return name
}

export const deb: Artefact = {
  name: 'deb',
  async make(release) {
    const names: string[] = []
    for (const platform of release.platforms.filter((name) => platforms[name].debian !== null))
      names.push(await makeDeb(release, platform, release.version, release.out))
    return names
  },
  async test(release) {
    const makeNext = (version: string, out: string) => makeDeb(release, 'linux-x64', version, out)
    await tryDeb(release, makeNext)
    await tryService(release, makeNext)
    await tryRack(release)
  },
}
