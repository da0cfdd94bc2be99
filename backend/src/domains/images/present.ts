/** Converts rows to the contract's images. Plaintext join tokens are inserted only here. */
import { imageLimits } from '#contract/images/customization.ts'
import type { EarlyDocuments } from '#contract/images/early.ts'
import { type Image, type ImageFormat, imageFormats } from '#contract/images.ts'
import { canUseJoinToken, joinArgument } from '#contract/join-tokens.ts'
import { kernelCommandLine } from '#talos/schematic/command-line.ts'
import { earlyArgument, earlyText } from '#talos/schematic/early.ts'
import { schematicText } from '#talos/schematic/schematic.ts'
import type { Config } from '../../config.ts'
import { earlyDigest } from './early.ts'
import { onlyHere } from '../../network.ts'
import type { TokenForImage } from '../joining/api.ts'
import type { ImageRow } from './store.ts'

/**
 * URLs of an image's files, and its network boot script: image-factory `docs/api.md`,
 * `internal/frontend/http/{standard,secureboot}.ipxe`.
 */
interface Built extends Pick<Image, 'talos_version' | 'arch' | 'secureboot' | 'schematic_id'> {
  /** Without a trailing slash. */
  readonly factory_url: string
}

const platform = ({ arch, secureboot }: Built): string =>
  `metal-${arch}${secureboot ? '-secureboot' : ''}`
const file = (image: Built, name: string): string =>
  `${image.factory_url}/image/${image.schematic_id}/${image.talos_version}/${name}`

const linkOf: Readonly<Record<ImageFormat, (image: Built) => string>> = {
  iso: (image) => file(image, `${platform(image)}.iso`),
  pxe: (image) =>
    `${image.factory_url}/pxe/${image.schematic_id}/${image.talos_version}/${platform(image)}`,
  raw: (image) => file(image, `${platform(image)}.raw.xz`),
  qcow2: (image) => file(image, `${platform(image)}.qcow2`),
}

/**
 * Percent-encodes variables such as `${uuid}`, because iPXE would expand them: a serial number with
 * a space would then truncate the line. Talos decodes the query first and then expands the
 * variables.
 */
const forIpxe = (arg: string): string =>
  arg.startsWith('talos.config=') ? arg.replaceAll(/\$\{(\w+)\}/g, '%24%7B$1%7D') : arg

/** An iPXE script. With secure boot, kernel and initramfs are one signed file. */
function pxeScript(image: Built, commandLine: string): string {
  const boot = image.secureboot
    ? [`kernel ${file(image, `${platform(image)}-uki.efi`)} ${commandLine}`]
    : [
        `kernel ${file(image, `kernel-${image.arch}`)} ${commandLine}`,
        `initrd ${file(image, `initramfs-${image.arch}.xz`)}`,
      ]
  return ['#!ipxe', '', 'imgfree', ...boot, 'boot', ''].join('\n')
}

/** Replaces the join token for callers who may not create tokens. */
const masked = '…'

/** The parts of an image that its schematic is made of. */
export interface Customized {
  readonly kernel_args: readonly string[]
  readonly public_url: string
  readonly early: EarlyDocuments | null
  /** The value of the kernel argument of `early`; null: the documents are a file of the image. */
  readonly early_packed: string | null
}

/** All kernel arguments of a schematic: the user's, then those that Steelyard adds. */
export const kernelArgsOf = (image: Customized, token: string | undefined): string[] => [
  ...image.kernel_args,
  ...(image.early === null || image.early_packed === null
    ? []
    : [earlyArgument(image.early_packed)]),
  ...(token === undefined
    ? []
    : [joinArgument(image.public_url, token, image.early && earlyDigest(image.early))]),
]

export const schematicOf = (
  image: Customized & { readonly extensions: readonly string[] },
  token: string | undefined,
) => ({
  ...(image.early !== null &&
    image.early_packed === null && { embeddedMachineConfiguration: earlyText(image.early) }),
  extraKernelArgs: kernelArgsOf(image, token),
  officialExtensions: image.extensions,
})

function warningsOf(
  row: ImageRow,
  token: TokenForImage | null,
  { publicUrl, imageFactoryUrl: factoryUrl, simulate }: Config,
): string[] {
  const simulated = simulate !== undefined
  const announces = token !== null
  const verdict = token && canUseJoinToken(token)
  return [
    verdict && !verdict.ok && `${verdict.reason}: new servers that boot this image are not listed`,
    announces &&
      onlyHere(row.public_url) &&
      !simulated &&
      `Servers cannot reach ${row.public_url}: set STEELYARD_PUBLIC_URL, then prepare the image again`,
    announces &&
      row.public_url !== publicUrl &&
      `Servers announce themselves at ${row.public_url}, but Steelyard is at ${publicUrl} now`,
    row.factory_url !== factoryUrl &&
      `It was prepared at ${row.factory_url}, but the image factory is ${factoryUrl} now`,
    row.factory_simulated &&
      !simulated &&
      'The image factory is simulated: its files boot no real server',
  ].filter((warning) => typeof warning === 'string')
}

/** @param reveal whether the join token is shown in plaintext */
export function present(
  row: ImageRow,
  token: TokenForImage | null,
  config: Config,
  reveal: boolean,
): Image {
  const shown = token === null ? undefined : reveal ? token.text : masked
  const args = kernelArgsOf(row, shown)
  const {
    datacenter_id,
    datacenter_code,
    token_id,
    public_url: _announced,
    factory_url: url,
    factory_simulated: simulated,
    early,
    early_packed,
    ...plain
  } = row
  const { registered_at, reason, updated_at: _updated, ...fields } = plain
  return {
    ...fields,
    kernel_args: args,
    datacenter:
      datacenter_id && datacenter_code ? { id: datacenter_id, code: datacenter_code } : null,
    token: token && token_id ? { id: token_id, name: token.name, status: token.status } : null,
    schematic: schematicText(schematicOf(row, shown)),
    factory: { url, simulated, registered_at: registered_at?.toISOString() ?? null, reason },
    url: linkOf[row.format](row),
    links: imageFormats.map((format) => ({ format, url: linkOf[format](row) })),
    pxe_script: pxeScript(row, commandLineOf(row, args.map(forIpxe))),
    kernel_command_line: commandLineOf(row, args),
    early: early && {
      documents: early,
      yaml: earlyText(early),
      way: early_packed === null ? 'embedded' : 'kernel_line',
      line_left: imageLimits.kernelCommandLine - commandLineOf(row, args).length,
    },
    warnings: warningsOf(row, token, config),
    created_at: row.created_at.toISOString(),
  }
}

export const commandLineOf = (
  image: Pick<ImageRow, 'talos_version' | 'arch' | 'secureboot'>,
  args: readonly string[],
): string =>
  kernelCommandLine(
    { talosVersion: image.talos_version, arch: image.arch, secureboot: image.secureboot },
    args,
  )

/** The audited fields of an image. */
export function audited(image: Image): object {
  const {
    links: _links,
    pxe_script: _script,
    kernel_command_line: _line,
    schematic: _text,
    warnings: _warnings,
    ...kept
  } = image
  return kept
}
