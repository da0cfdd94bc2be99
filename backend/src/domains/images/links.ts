/** Where an image's files are, and what boots it over the network: image-factory `docs/api.md`, `internal/frontend/http/{standard,secureboot}.ipxe`. */
import type { Image, ImageFormat, ImageLink } from '#contract/images.ts'
import { imageFormats } from '#contract/images.ts'
import type * as z from 'zod/mini'

export interface Built extends Pick<Image, 'talos_version' | 'arch' | 'secureboot' | 'schematic_id'> {
  /** Without a slash at the end. */
  readonly factory_url: string
}

const platform = ({ arch, secureboot }: Built): string => `metal-${arch}${secureboot ? '-secureboot' : ''}`
const file = (image: Built, name: string): string => `${image.factory_url}/image/${image.schematic_id}/${image.talos_version}/${name}`

const links: Readonly<Record<ImageFormat, (image: Built) => string>> = {
  iso: (image) => file(image, `${platform(image)}.iso`),
  pxe: (image) => `${image.factory_url}/pxe/${image.schematic_id}/${image.talos_version}/${platform(image)}`,
  raw: (image) => file(image, `${platform(image)}.raw.xz`),
  qcow2: (image) => file(image, `${platform(image)}.qcow2`),
}
export const linkOf = (image: Built, format: ImageFormat): string => links[format](image)
export const linksOf = (image: Built): z.infer<typeof ImageLink>[] => imageFormats.map((format) => ({ format, url: linkOf(image, format) }))

/**
 * iPXE expands `${uuid}` and similar variables itself, and a serial number with a space would truncate the line. Talos decodes
 * the query before it expands variables, so they may be percent-encoded.
 */
export const forIpxe = (arg: string): string => (arg.startsWith('talos.config=') ? arg.replaceAll(/\$\{(\w+)\}/g, '%24%7B$1%7D') : arg)

/** An iPXE script. With secure boot, kernel and initramfs are one signed file. */
export function pxeScript(image: Built, commandLine: string): string {
  const boot = image.secureboot
    ? [`kernel ${file(image, `${platform(image)}-uki.efi`)} ${commandLine}`]
    : [`kernel ${file(image, `kernel-${image.arch}`)} ${commandLine}`, `initrd ${file(image, `initramfs-${image.arch}.xz`)}`]
  return ['#!ipxe', '', 'imgfree', ...boot, 'boot', ''].join('\n')
}
