import { extname } from 'node:path'
import { resolveExtensions } from './catalogue.ts'
import { Invalid, type Schematic } from './schematic.ts'

export interface Asset {
  kind: 'kernel' | 'initramfs' | 'cmdline' | 'iso' | 'uki' | 'installer' | 'disk image'
  platform: string
  arch: 'amd64' | 'arm64'
  secureboot: boolean
}

/** Platforms that Talos has images for. */
const PLATFORMS =
  'akamai aws azure cloudstack digital-ocean equinixMetal exoscale gcp hcloud metal nocloud opennebula openstack oracle scaleway upcloud vmware vultr'.split(
    ' ',
  )

const archOf = (text: string): Asset['arch'] => {
  if (text === 'amd64' || text === 'arm64') return text
  // iPXE's names for the architectures.
  if (text === 'x86_64' || text === 'i386') return 'amd64'
  throw new Invalid(`invalid architecture: ${JSON.stringify(text)}`)
}

const platformOf = (given: string): Omit<Asset, 'kind'> => {
  const secureboot = given.endsWith('-secureboot')
  const text = secureboot ? given.slice(0, -'-secureboot'.length) : given
  const at = text.startsWith('digital-ocean-') ? 'digital-ocean'.length : text.indexOf('-')
  if (at === -1) throw new Invalid(`invalid platform-arch: ${JSON.stringify(text)}`)
  const platform = text.slice(0, at)
  const arch = archOf(text.slice(at + 1))
  if (!PLATFORMS.includes(platform))
    throw new Invalid(`invalid platform: ${JSON.stringify(platform)}`)
  return { platform, arch, secureboot }
}

const FORMS: [pattern: RegExp, kind: Asset['kind'], read: (text: string) => Omit<Asset, 'kind'>][] =
  [
    [
      /^kernel-(.*)$/,
      'kernel',
      (arch) => ({ platform: 'metal', arch: archOf(arch), secureboot: false }),
    ],
    [/^cmdline-(.*)$/, 'cmdline', platformOf],
    [
      /^initramfs-(.*)\.xz$/,
      'initramfs',
      (arch) => ({ platform: 'metal', arch: archOf(arch), secureboot: false }),
    ],
    [/^(.*)\.iso$/, 'iso', platformOf],
    [/^(.*)-uki\.efi$/, 'uki', platformOf],
    [/^installer-(.*)\.tar$/, 'installer', (text) => platformOf(`metal-${text}`)],
    [
      /^((?:(?!-installer-).)*-installer-.*)\.tar$/,
      'installer',
      (text) => platformOf(text.replace('-installer-', '-')),
    ],
    [/^(.*)\.(?:raw|qcow2|vhd|ova)(?:\.tar\.gz|\.gz|\.xz|\.zst)?$/, 'disk image', platformOf],
  ]

/**
 * Parses the name of a factory file (image-factory: internal/profile/profile.go). @throws Invalid
 * for any other name
 */
export const assetOf = (path: string): Asset => {
  for (const [pattern, kind, read] of FORMS) {
    const match = pattern.exec(path)
    if (match) return { kind, ...read(match[1] ?? '') }
  }
  throw new Invalid(`invalid profile path: ${JSON.stringify(path)}`)
}

const DEFAULT_ARGUMENTS =
  'init_on_alloc=1 slab_nomerge pti=on consoleblank=0 nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1 module.sig_enforce=1 proc_mem.force_override=never'
/** Keys of arguments for which a schematic's values replace Talos's own. */
const REPLACED = new Set(['console', 'talos.platform'])
const nameOf = (argument: string): string => argument.split('=')[0] ?? ''

/**
 * The kernel arguments of an image: Talos's own, then the schematic's. A minus before an argument
 * removes that argument, with all its values if no value is given (Talos: pkg/imager/imager.go).
 */
export const kernelCommandLine = (
  asset: Pick<Asset, 'platform' | 'arch' | 'secureboot'> & { kind?: Asset['kind'] },
  { extraKernelArgs }: Pick<Schematic, 'extraKernelArgs'>,
): string => {
  const consoles =
    asset.platform !== 'metal'
      ? []
      : asset.arch === 'arm64'
        ? ['console=ttyAMA0', 'console=tty0']
        : ['console=tty0']
  const replaced = new Set(extraKernelArgs.map(nameOf).filter((name) => REPLACED.has(name)))
  const own = [
    `talos.platform=${asset.platform}`,
    ...consoles,
    ...DEFAULT_ARGUMENTS.split(' '),
    ...(asset.secureboot ? ['lockdown=confidentiality'] : []),
    ...(asset.kind === 'iso' ? ['talos.halt_if_installed=1'] : []),
  ]
  let line = own.filter((argument) => !replaced.has(nameOf(argument)))
  for (const argument of extraKernelArgs) {
    const gone = argument.slice(1)
    if (argument.startsWith('-'))
      line = line.filter((kept) => kept !== gone && nameOf(kept) !== gone)
    else line.push(argument)
  }
  return line.join(' ')
}

/**
 * The content of a file: a text that explains that the file is no image. Only its kernel command
 * line is real.
 * @throws Invalid if an extension doesn't exist for this version
 */
export const contentOf = (asset: Asset, schematic: Schematic, version: string): string => {
  if (asset.kind === 'cmdline') return kernelCommandLine(asset, schematic)
  const extensions = asset.kind === 'kernel' ? [] : resolveExtensions(schematic.extensions, version)
  return [
    'SIMULATED. This file was made by the simulated image factory of Steelyard: it is no Talos image and boots nothing.',
    '',
    `kind: ${asset.kind}`,
    `talos: ${version}`,
    `platform: ${asset.platform}`,
    `architecture: ${asset.arch}`,
    `secure boot: ${asset.secureboot ? 'yes' : 'no'}`,
    `schematic: ${schematic.id}`,
    `extensions: ${extensions.map(({ name, version: own }) => `${name} ${own}`).join(', ') || 'none'}`,
    `kernel arguments: ${kernelCommandLine(asset, schematic)}`,
    '',
  ].join('\n')
}

const TYPES: Readonly<Record<string, string>> = {
  '.efi': 'application/efi',
  '.iso': 'application/x-iso9660-image',
  '.xz': 'application/x-xz',
  '.gz': 'application/gzip',
  '.qcow2': 'application/x-qemu-disk',
  '.tar': 'application/x-tar',
}
export const contentType = (path: string): string =>
  TYPES[extname(path)] ?? 'application/octet-stream'

/** The iPXE script of an image. */
export const pxeScript = (
  base: string,
  asset: Asset,
  schematic: Schematic,
  version: string,
): string => {
  const files = `${base}/image/${schematic.id}/${version}`
  const line = kernelCommandLine(asset, schematic)
  return asset.secureboot
    ? `#!ipxe\n\nimgfree\nkernel ${files}/${asset.platform}-${asset.arch}-secureboot-uki.efi ${line}\nboot\n`
    : `#!ipxe\n\nimgfree\nkernel ${files}/kernel-${asset.arch} ${line}\ninitrd ${files}/initramfs-${asset.arch}.xz\nboot\n`
}
