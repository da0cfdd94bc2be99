/** Row → contract. The only place where an image's columns become its fields, and where its token stands in clear. */
import type { Image } from '#contract/images.ts'
import { canUseJoinToken, joinArgument, type JoinToken } from '#contract/join-tokens.ts'
import { kernelCommandLine } from '#talos/schematic/command-line.ts'
import { schematicText } from '#talos/schematic/schematic.ts'
import { onlyHere } from '../../network.ts'
import { forIpxe, linkOf, linksOf, pxeScript } from './links.ts'
import type { ImageRow } from './store.ts'

/** A join token as images need it. */
export interface ImageToken {
  /** The token itself. Never into the database, the log, the audit log or an event. */
  readonly text: string
  readonly name: string
  readonly status: JoinToken['status']
  readonly datacenterId: string | null
}

/** What the token reads as for those who may not make one. */
const masked = '…'

/** All arguments that a schematic carries: a person's, then the announcement. */
export const kernelArgsOf = (image: { readonly kernel_args: readonly string[]; readonly public_url: string }, token: string | undefined): string[] => [
  ...image.kernel_args,
  ...(token === undefined ? [] : [joinArgument(image.public_url, token)]),
]

export const schematicOf = (image: Parameters<typeof kernelArgsOf>[0] & { readonly extensions: readonly string[] }, token: string | undefined) => ({
  extraKernelArgs: kernelArgsOf(image, token),
  officialExtensions: image.extensions,
})

export interface Surroundings {
  /** As the settings say now, without a slash at the end. */
  readonly publicUrl: string
  readonly factoryUrl: string
  /** The servers of this installation are simulated, on this machine. */
  readonly simulated: boolean
}

function warningsOf(row: ImageRow, token: ImageToken | null, { publicUrl, factoryUrl, simulated }: Surroundings): string[] {
  const announces = token !== null
  const verdict = token && canUseJoinToken(token)
  return [
    verdict && !verdict.ok && `${verdict.reason}: new servers that boot this image are not listed`,
    announces && onlyHere(row.public_url) && !simulated && `Servers can not reach ${row.public_url}: set STEELYARD_PUBLIC_URL, then prepare the image again`,
    announces && row.public_url !== publicUrl && `Servers announce themselves at ${row.public_url}, but Steelyard is at ${publicUrl} now`,
    row.factory_url !== factoryUrl && `It was prepared at ${row.factory_url}, but the image factory is ${factoryUrl} now`,
    row.factory_simulated && !simulated && 'The image factory is simulated: its files boot no real server',
  ].filter((warning) => typeof warning === 'string')
}

/** @param reveal whether the join token stands in clear */
export function present(row: ImageRow, token: ImageToken | null, around: Surroundings, reveal: boolean): Image {
  const shown = token === null ? undefined : reveal ? token.text : masked
  const args = kernelArgsOf(row, shown)
  return {
    id: row.id,
    talos_version: row.talos_version,
    arch: row.arch,
    secureboot: row.secureboot,
    extensions: row.extensions,
    kernel_args: args,
    format: row.format,
    datacenter: row.datacenter_id && row.datacenter_code ? { id: row.datacenter_id, code: row.datacenter_code } : null,
    token: token && row.token_id ? { id: row.token_id, name: token.name, status: token.status } : null,
    schematic_id: row.schematic_id,
    schematic: schematicText(schematicOf(row, shown)),
    factory: { url: row.factory_url, simulated: row.factory_simulated, registered_at: row.registered_at?.toISOString() ?? null, reason: row.reason },
    url: linkOf(row, row.format),
    links: linksOf(row),
    pxe_script: pxeScript(row, commandLineOf(row, args.map(forIpxe))),
    kernel_command_line: commandLineOf(row, args),
    warnings: warningsOf(row, token, around),
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    version: row.version,
  }
}

export const commandLineOf = (image: Pick<ImageRow, 'talos_version' | 'arch' | 'secureboot'>, args: readonly string[]): string =>
  kernelCommandLine({ talosVersion: image.talos_version, arch: image.arch, secureboot: image.secureboot }, args)

/** For the audit log: what was asked for and what came of it. */
export function audited(image: Image): object {
  const { links: _links, pxe_script: _script, kernel_command_line: _line, schematic: _text, warnings: _warnings, ...kept } = image
  return kept
}
