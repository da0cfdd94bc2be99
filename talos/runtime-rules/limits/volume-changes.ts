/** Changes of a member's volumes after which Talos can't open or mount what they hold. */
import type { ConfigDocument } from '../../config/decode.ts'
import { type Report, textOf } from '../../config/report.ts'
import { at } from '../../config/tree.ts'
import { Configuration } from '../rule.ts'
import { findingOf, type RuntimeFinding } from '../runtime-rules.ts'

interface Volume {
  /** `EPHEMERAL`, or `UserVolumeConfig data` */
  readonly name: string
  readonly document: Report
  /** Of the section with the encryption. */
  readonly path: readonly string[]
}

const old = ['machine', 'systemDiskEncryption'] as const
const kinds = ['UserVolumeConfig', 'RawVolumeConfig', 'SwapVolumeConfig'] as const

/** Volumes of a configuration, in both forms. Talos's own two are always there. */
function volumesOf(config: Configuration): Map<string, Volume> {
  const { main } = config
  const own = ['STATE', 'EPHEMERAL'].map((name) => ({
    name,
    document: main,
    path: [...old, name.toLowerCase()],
  }))
  const system = config.of('VolumeConfig').map((document) => ({
    name: document.text('name'),
    document,
    path: ['encryption'],
  }))
  const others = kinds.flatMap((kind) =>
    config.of(kind).map((document) => ({
      name: `${kind} ${document.text('name')}`,
      document,
      path: ['encryption'],
    })),
  )
  const all = new Map<string, Volume>(own.map((one) => [one.name, one]))
  // A section of the main document counts as long as the document says nothing of encryption.
  for (const one of [...system, ...others])
    if (one.document.has(...one.path, 'provider') || !isEncrypted(all.get(one.name)))
      all.set(one.name, one)
  return all
}

const isEncrypted = (volume: Volume | undefined): boolean =>
  volume?.document.has(...volume.path, 'provider') === true

/** Kinds of keys (`internal/pkg/encryption/keys`). */
const methods = ['static', 'nodeID', 'kms', 'tpm'] as const

/**
 * The keys of a volume, each as a text that is equal for keys that open the same. Talos tries a key
 * in its own slot only (siderolabs/go-blockdevice `encryption/luks/luks.go`, Open: --key-slot). A
 * server of KMS may get another address, so its address isn't compared.
 */
function keysOf({ document, path }: Volume): string[] {
  return document.items(...path, 'keys').flatMap(({ path: key, node }) => {
    const method = methods.find((one) => at(node, one)?.is === 'map')
    if (method === undefined) return []
    const slot = textOf(at(node, 'slot')) || '0'
    const word = method === 'static' ? document.text(...key, 'static', 'passphrase') : ''
    return [`${slot} ${method} ${document.flag(...key, 'lockToState')} ${word}`]
  })
}

/** What a volume is made of: a partition, unless another kind is named. */
const typeOf = ({ document, name }: Volume): string =>
  (name.includes(' ') && document.text('volumeType')) || 'partition'

/** The file system of a volume with one; Talos formats with XFS unless another is named. */
const fileSystemOf = ({ document, name }: Volume): string | null =>
  name.startsWith('UserVolumeConfig ') ? document.text('filesystem', 'type') || 'xfs' : null

/** `EPHEMERAL`, or `the volume data`. */
const nameOf = ({ name }: Volume): string =>
  name.includes(' ') ? `the volume ${name.split(' ')[1]}` : name
const titleOf = (volume: Volume): string => nameOf(volume).replace(/^the/, 'The')

/** What a change of a volume breaks, with the field that says it; null if nothing. */
function problemOf(
  before: Volume,
  after: Volume,
  server: string,
): { readonly path: readonly string[]; readonly sentence: string } | null {
  // A volume of another kind is another place, with other content.
  if (typeOf(before) !== typeOf(after)) return null
  const loses =
    before.name === 'STATE' || before.name === 'EPHEMERAL'
      ? `${server} does not come up again`
      : 'nothing can use it'
  if (isEncrypted(before) && !isEncrypted(after))
    return {
      path: after.path,
      sentence: `${titleOf(before)} of ${server} is encrypted, and Talos does not decrypt it: without its encryption in the configuration ${loses} after the next start. Keep it, or reset the server and let it join with the change`,
    }
  if (isEncrypted(before) && isEncrypted(after)) {
    const [known, wanted] = [keysOf(before), keysOf(after)]
    const path = [...after.path, 'keys']
    if (known.length > 0 && !wanted.some((key) => known.includes(key)))
      return {
        path,
        sentence: `No key that ${nameOf(before)} of ${server} is encrypted with remains, so Talos can’t open it and ${loses} after the next start: add the new key in another slot, restart ${server}, and only then take the old one out`,
      }
    // The configuration doesn't tell which of its keys the disk has by now.
    if (!known.every((key) => wanted.includes(key)))
      return {
        path,
        sentence: `Talos writes a new key to ${nameOf(before)} only when ${server} starts: take one out only if ${server} has restarted since the remaining ones were added, or Talos can’t open it and ${loses} after the next start`,
      }
  }
  const [from, to] = [fileSystemOf(before), fileSystemOf(after)]
  return from === to
    ? null
    : {
        path: ['filesystem', 'type'],
        sentence: `${titleOf(before)} of ${server} has the file system ${from}, and Talos does not format it again, so with ${to} ${loses}: keep ${from}, or wipe the volume first`,
      }
}

const rule = { id: 'volume-change', level: 'warn' } as const

/**
 * What a change of a member's volumes breaks. Talos `internal/app/machined/pkg/controllers/block`
 * (v1.13.9), `volumes/encrypt.go` and `format.go`: "filesystem type mismatch: luks != xfs";
 * `internal/pkg/encryption/encryption.go`, Open: "no handlers available to get encryption keys from".
 * Only Open adds and removes keys (syncKeys), and an open volume isn't opened again
 * (`volume_manager.go`, VolumePhaseReady; Talos docs, "Disk Encryption": key rotation).
 */
export function volumeChangeFindings(
  before: readonly ConfigDocument[],
  after: readonly ConfigDocument[],
  server: string,
): RuntimeFinding[] {
  const former = volumesOf(new Configuration(before))
  return [...volumesOf(new Configuration(after))].flatMap(([name, volume]) => {
    const known = former.get(name)
    const problem = known === undefined ? null : problemOf(known, volume, server)
    if (problem === null) return []
    return [findingOf(rule, { document: volume.document, ...problem })]
  })
}
