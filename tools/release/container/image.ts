/**
 * An image for containers, without a shell and without root: `steelyard-VERSION-image-PLATFORM.tar`
 * is an archive of the OCI's layout, which podman, skopeo, crane, containerd and Docker read.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Artefact, demandRoom, type Release, run } from '../artefact.ts'
import { buildNext } from '../trial/next.ts'
import { addImage, addLayer, type ImageConfig, makeLayout, tagImage, tagOf } from './layout.ts'
import {
  dataFolder,
  home,
  imageRoot,
  type Processor,
  processors,
  type Root,
  userId,
} from './root.ts'
import { tryImage } from './try-image.ts'

/** What the folders, the layers and the archive of one image take. */
const neededBytes = 1.2e9

/** How a container starts. The program itself gets the signals, because it is process 1. */
const imageConfig = (version: string, nodeFlags: readonly string[]): ImageConfig => ({
  User: `${userId}:${userId}`,
  Env: [
    `PATH=/usr/bin:${home}/node/bin`,
    'HOST=0.0.0.0',
    'PORT=8080',
    `STEELYARD_DATA=${dataFolder}`,
    'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
  ],
  Entrypoint: [`${home}/node/bin/node`, ...nodeFlags, `${home}/backend/dist/main.js`],
  Cmd: ['serve'],
  WorkingDir: dataFolder,
  ExposedPorts: { '8080/tcp': {} },
  Volumes: { [dataFolder]: {} },
  StopSignal: 'SIGTERM',
  Labels: {
    'org.opencontainers.image.title': 'Steelyard',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'MPL-2.0',
    'org.opencontainers.image.description':
      'Console and control plane for people who own racks of bare-metal servers',
  },
})

const nodeFlags = (repository: string): readonly string[] =>
  (
    JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
      config: { nodeFlags: string[] }
    }
  ).config.nodeFlags

/** Makes the image of one processor, and returns the name of its archive in `release.out`. */
async function makeImage(release: Release, processor: Processor): Promise<string> {
  const { work, out, version, epochSeconds } = release
  for (const folder of [work, out]) demandRoom(folder, neededBytes)
  const root: Root = await imageRoot(release, processor)
  const layout = join(work, `layout-${processor}`)
  makeLayout(layout)
  const packages = root.debian.map(({ name, version }) => `${name} ${version}`).join(', ')
  const layers = [
    await addLayer(release, layout, root.base, `Debian: ${packages}`, {
      path: dataFolder.slice(1),
      userId,
      mode: '0700',
    }),
    await addLayer(release, layout, root.runtime, 'Node.js and PostgreSQL'),
    await addLayer(release, layout, root.program, `Steelyard ${version}`),
  ]
  const created = new Date(epochSeconds * 1000).toISOString()
  const config = imageConfig(version, nodeFlags(release.home))
  const image = addImage(layout, processors[processor].oci, created, config, layers)
  tagImage(layout, tagOf(version), image)
  const name = `steelyard-${version}-image-linux-${processor}.tar`
  await run('tar', [
    '-C',
    layout,
    `--mtime=@${epochSeconds}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--format=gnu',
    '--sort=name',
    '-cf',
    join(out, name),
    'oci-layout',
    'index.json',
    'blobs',
  ])
  for (const folder of [layout, join(root.base, '..')]) rmSync(folder, { recursive: true })
  return name
}

export const image: Artefact = {
  name: 'image',
  async make(release) {
    const names: string[] = []
    for (const processor of Object.keys(processors) as Processor[])
      if (release.platforms.includes(`linux-${processor}`))
        names.push(await makeImage(release, processor))
    return names
  },
  test: (release) =>
    tryImage(release, async () => {
      const version = await buildNext(release)
      const next = { ...release, version, out: join(release.work, 'next') }
      mkdirSync(next.out)
      return { version, archive: join(next.out, await makeImage(next, process.arch as Processor)) }
    }),
}
