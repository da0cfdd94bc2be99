/**
 * An image in the layout of the OCI (image-spec 1.1, image-layout.md), written without a daemon: it
 * consists of archives and JSON, each in a file that is named by its SHA-256.
 */
import { createHash } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Release, run } from '../artefact.ts'

/** A blob by its type, hash and size (descriptor.md). */
export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

export interface Layer extends Descriptor {
  /** Hash of the archive before its compression (config.md, `rootfs.diff_ids`). */
  readonly diffId: string
  readonly what: string
}

const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const

const blobs = (layout: string) => join(layout, 'blobs/sha256')

/** Creates an empty layout. */
export function makeLayout(layout: string): void {
  mkdirSync(blobs(layout), { recursive: true })
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
}

function writeJson(layout: string, mediaType: string, value: object): Descriptor {
  const text = JSON.stringify(value)
  const hash = createHash('sha256').update(text).digest('hex')
  writeFileSync(join(blobs(layout), hash), text)
  return { mediaType, digest: `sha256:${hash}`, size: Buffer.byteLength(text) }
}

/** Passes everything on, and computes its SHA-256. */
function hashing(): { stream: Transform; digest: () => string } {
  const hash = createHash('sha256')
  const stream = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  return { stream, digest: () => hash.digest('hex') }
}

/** A folder that belongs to a user, not to root. */
export interface Owned {
  readonly path: string
  readonly userId: number
  readonly mode: string
}

/**
 * Adds a folder as a layer: the same files give the same bytes. Everything belongs to root, except
 * `owned`, which has to be an empty folder.
 */
export async function addLayer(
  { epochSeconds, work }: Pick<Release, 'epochSeconds' | 'work'>,
  layout: string,
  folder: string,
  what: string,
  owned?: Owned,
): Promise<Layer> {
  const archive = join(work, 'layer.tar')
  const common = [
    '-C',
    folder,
    `--mtime=@${epochSeconds}`,
    '--numeric-owner',
    '--format=gnu',
    '--sort=name',
  ]
  const names = readdirSync(folder).toSorted((a, b) => (a < b ? -1 : 1))
  const except = owned ? [`--exclude=${owned.path}`] : []
  await run('tar', [...common, '--owner=0', '--group=0', ...except, '-cf', archive, ...names])
  if (owned) {
    const { path, userId, mode } = owned
    const as = [`--owner=${userId}`, `--group=${userId}`, `--mode=${mode}`]
    await run('tar', [...common, ...as, '-rf', archive, path])
  }
  const compressed = join(work, 'layer.tar.gz')
  const [plain, packed] = [hashing(), hashing()]
  await pipeline(
    createReadStream(archive),
    plain.stream,
    createGzip({ level: 6 }),
    packed.stream,
    createWriteStream(compressed),
  )
  const hash = packed.digest()
  const { size } = statSync(compressed)
  renameSync(compressed, join(blobs(layout), hash))
  return {
    mediaType: types.layer,
    digest: `sha256:${hash}`,
    size,
    diffId: `sha256:${plain.digest()}`,
    what,
  }
}

/** How a container of the image is started (config.md). */
export interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  readonly ExposedPorts: Readonly<Record<string, object>>
  readonly Volumes: Readonly<Record<string, object>>
  readonly StopSignal: string
  readonly Labels: Readonly<Record<string, string>>
}

/** Adds an image. Its layers are in the layout already. */
export function addImage(
  layout: string,
  architecture: string,
  created: string,
  config: ImageConfig,
  layers: readonly Layer[],
): Descriptor & { readonly platform: object } {
  const written = writeJson(layout, types.config, {
    created,
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ what }) => ({ created, created_by: what })),
  })
  const manifest = writeJson(layout, types.manifest, {
    schemaVersion: 2,
    mediaType: types.manifest,
    config: written,
    layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
    annotations: config.Labels,
  })
  return { ...manifest, platform: { architecture, os: 'linux' } }
}

/** Tags may not contain a plus sign, which versions may; Helm writes them the same way. */
export const tagOf = (version: string): string => version.replaceAll('+', '_')

/**
 * Names the image by a tag. Without this index the layout is empty. containerd and Docker take the
 * name from an annotation of their own when they import an archive.
 */
export function tagImage(layout: string, tag: string, image: Descriptor): void {
  const annotations = {
    'org.opencontainers.image.ref.name': tag,
    'io.containerd.image.name': `docker.io/library/steelyard:${tag}`,
  }
  const index = {
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [{ ...image, annotations }],
  }
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index))
}
