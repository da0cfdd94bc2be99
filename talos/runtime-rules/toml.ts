/** Whether a text is TOML. */
import { parse, TomlError, type TomlValue } from 'smol-toml'

/**
 * Levels of lists and tables in a value. go-toml v2, which Talos merges the parts with
 * (`internal/pkg/toml/merge.go`), reads 10,000, which no configuration of containerd needs.
 */
const maxDepth = 100

const most = 2n ** 63n

/** An integer that doesn't fit in 64 bits: go-toml refuses the text. */
function tooLarge(value: TomlValue): bigint | undefined {
  if (typeof value === 'bigint') return value >= most || value < -most ? value : undefined
  if (typeof value !== 'object' || value instanceof Date) return undefined
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const found = tooLarge(inner)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The first mistake in a text of TOML, with its line. The text itself isn't quoted, because it may
 * have passwords of registries in it. Null if nothing is wrong.
 */
export function tomlProblem(text: string): string | null {
  if (text.startsWith('\u{FEFF}')) return 'it begins with a byte order mark (U+FEFF)'
  try {
    // Integers have 64 bits in TOML, more than a number can hold.
    const number = tooLarge(parse(text, { integersAsBigInt: true, maxDepth }))
    return number === undefined ? null : `the number ${number} does not fit in 64 bits`
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [what = ''] = error.message.split('\n', 1)
    return `line ${error.line}, column ${error.column}: ${what.replace('Invalid TOML document: ', '')}`
  }
}

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The name that containerd 1 had for its settings of Kubernetes, and where containerd 2 has them
 * (containerd docs/cri/config.md, version 3 of the configuration).
 */
export const formerPlugin = 'io.containerd.grpc.v1.cri'
const imageSettings = new Set(
  `disable_snapshot_annotations discard_unpacked_layers image_pull_progress_timeout
  image_pull_with_sync_fs image_decryption max_concurrent_downloads pinned_images registry
  sandbox_image snapshotter stats_collect_period`.split(/\s+/),
)

/** Where the settings under the former name belong; null without any. */
export function newPlacesOf(text: string): string | null {
  if (tomlProblem(text) !== null) return null
  const { plugins } = parse(text, { integersAsBigInt: true, maxDepth })
  const former = isTable(plugins) ? plugins[formerPlugin] : undefined
  if (!isTable(former)) return null
  const keys = Object.entries(former).flatMap(([key, value]) =>
    key === 'containerd' && isTable(value) ? Object.keys(value) : [key],
  )
  const [ofImages, ofRuntime] = [
    keys.filter((key) => imageSettings.has(key)),
    keys.filter((key) => !imageSettings.has(key)),
  ]
  return [
    ...(ofRuntime.length > 0 ? [`${ofRuntime.join(', ')} to io.containerd.cri.v1.runtime`] : []),
    ...(ofImages.length > 0 ? [`${ofImages.join(', ')} to io.containerd.cri.v1.images`] : []),
  ].join(' and ')
}
