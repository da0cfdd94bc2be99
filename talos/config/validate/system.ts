/**
 * Rules for the documents of the machine itself since Talos 1.14 (Talos
 * `pkg/machinery/config/types`, folders `runtime`, `cluster`, `cri`, `storage`, `network`,
 * `container`).
 */
import { addressBits, isAddress, isQualifiedName, prefixLength, sizeBytes } from '../formats.ts'
import type { Report } from '../report.ts'
import {
  type Check,
  expression,
  form,
  isPercentage,
  link,
  notNegative,
  required,
  scrubInterval,
} from './forms.ts'
import { containerCheck } from './container.ts'

/** A name of letters, digits, hyphens and underscores. */
const storageName = (report: Report, longest: number) => {
  const name = report.text('name')
  if (name.length > longest)
    report.error(['name'], `The name can have ${longest} characters at most`)
  if (name !== '' && !/^[a-zA-Z0-9_-]+$/.test(name))
    report.error(['name'], 'The name can only have letters, digits, hyphens and underscores')
}

const members: Check = (report, talosVersion) => {
  const path = ['provisioning', 'volumeSelector', 'match']
  if (!report.has(...path)) report.error(['provisioning'], `Say which: ${path.join('.')}`)
  expression(report, path, 'member volume', talosVersion)
}

const logicalVolume: Check = (report) => {
  storageName(report, 63)
  const type = report.text('type') || 'linear'
  for (const [field, types, least] of [
    ['mirrors', ['raid1', 'raid10'], 1],
    ['stripes', ['raid0', 'raid10'], 2],
  ] as const) {
    const count = report.number(field)
    if (count === undefined) continue
    if (!types.some((one) => one === type))
      report.error([field], `${field} is only possible with ${types.join(' and ')}`)
    else if (count < least) report.error([field], `${field} must be at least ${least}`)
  }
  if (report.text('provisioning', 'volumeGroup') === '')
    report.error(['provisioning'], 'provisioning.volumeGroup is missing')
  const [min, max] = [
    report.text('provisioning', 'minSize'),
    report.text('provisioning', 'maxSize'),
  ]
  form(report, ['provisioning', 'minSize'], (t) => sizeBytes(t) !== undefined, 'a size')
  if (isPercentage(max) ? Number(max.slice(0, -1)) === 0 : (sizeBytes(max) ?? 0) === 0)
    report.error(
      ['provisioning', 'maxSize'],
      'provisioning.maxSize must be a size such as 100GiB, or a percentage',
    )
  if ((sizeBytes(min) ?? 0) > (sizeBytes(max) ?? Infinity))
    report.error(['provisioning', 'minSize'], 'minSize is more than maxSize')
}

/** Paths below /etc that Talos writes itself (`runtime/etc_file.go`). */
const ownFiles = new Set(
  'resolv.conf hosts machine-id extensions.yaml localtime os-release xattr.conf'.split(' '),
)
const ownFolders =
  'apparmor.d apparmor ca-certificates cni cri iscsi kubernetes lvm nvme pki selinux ssl'.split(' ')

const etcFile: Check = (report) => {
  const name = report.text('name')
  // Go's filepath.IsLocal: not absolute, and never above the folder that it begins in.
  let depth = 0
  const isLocal =
    !name.startsWith('/') &&
    name.split('/').every((part) => {
      depth += part === '..' ? -1 : part === '' || part === '.' ? 0 : 1
      return depth >= 0
    })
  if (name !== '' && (!isLocal || name.startsWith('.')))
    report.error(['name'], 'The name is a path below /etc, without a dot in front')
  if (ownFiles.has(name) || ownFolders.some((one) => name === one || name.startsWith(`${one}/`)))
    report.error(['name'], `Talos writes /etc/${name} itself`)
}

const vethName = (report: Report, ...path: string[]) => {
  const name = report.text(...path)
  if (name === '') report.error(path, 'A link needs a name')
  else if (
    Buffer.byteLength(name) > 15 ||
    name === '.' ||
    name === '..' ||
    /[/:\s\p{C}]/u.test(name)
  )
    report.error(path, `${name} is not the name of a link: 15 bytes at most, no space, / or :`)
}

/** Whether two networks share addresses. */
function overlap(a: string, b: string): boolean {
  const shortest = Math.min(prefixLength(a)!, prefixLength(b)!)
  const [one, other] = [addressBits(a), addressBits(b)]
  return one.length === other.length && one.slice(0, shortest) === other.slice(0, shortest)
}

const bgp: Check = (report) => {
  if ((report.number('localASN') ?? 0) === 0) report.error(['localASN'], 'localASN is missing')
  const isIPv4 = (text: string) => isAddress(text) && !text.includes(':')
  form(report, ['routerID'], isIPv4, 'an IPv4 address')
  form(report, ['routeSource'], isAddress, 'an address')
  if (!report.has('neighbors')) report.warn('A BGP instance without neighbors does nothing')
  neighbors(report)
  imports(report)
}

function neighbors(report: Report): void {
  const seen = new Set<string>()
  for (const { path } of report.items('neighbors')) {
    const [address, name] = [report.text(...path, 'address'), report.text(...path, 'link')]
    form(report, [...path, 'address'], isAddress, 'an address')
    if ((address === '') === (name === ''))
      report.error(path, 'A neighbor has either an address or a link')
    const key = address || name
    if (key !== '' && seen.has(key)) report.error(path, `The neighbor ${key} is there twice`)
    seen.add(key)
    notNegative(report, ...path, 'holdTime')
    if (!report.has(...path, 'bfd')) continue
    if (report.has('vrf')) report.error([...path, 'bfd'], 'bfd is not possible in a VRF')
    for (const field of ['transmitInterval', 'receiveInterval'])
      notNegative(report, ...path, 'bfd', field)
  }
}

function imports(report: Report): void {
  const sources = new Set<string>()
  const seen: string[] = []
  for (const { path } of report.items('importRoutes')) {
    const source = report.text(...path, 'bgpInstance')
    if (source === '') report.error(path, 'bgpInstance is missing')
    else if (source === report.text('name'))
      report.error(path, 'An instance can’t import routes of its own')
    else if (sources.has(source)) report.error(path, `The instance ${source} is there twice`)
    sources.add(source)
    const prefixes = report.texts(...path, 'prefixes')
    if (prefixes.length === 0) report.error(path, 'prefixes are missing')
    for (const { path: where, text } of prefixes) {
      if (prefixLength(text) === null)
        report.error(where, `${text} is not a network, whose address ends with zeros`)
      else {
        const other = seen.find((one) => overlap(one, text))
        if (other !== undefined) report.error(where, `${text} overlaps with ${other}`)
        seen.push(text)
      }
    }
  }
}

export const systemChecks: Readonly<Record<string, Check>> = {
  FilesystemTrimConfig: (report) => notNegative(report, 'interval'),
  FilesystemScrubConfig: (report) => scrubInterval(report, 'interval'),
  RAIDArrayConfig: (report, talosVersion) => {
    storageName(report, 32)
    members(report, talosVersion)
  },
  LVMVolumeGroupConfig: (report, talosVersion) => {
    storageName(report, 63)
    members(report, talosVersion)
  },
  LVMLogicalVolumeConfig: logicalVolume,
  DiscoveryIdentityConfig: (report) => {
    required(report, 'clusterID')
    const secret = report.text('clusterSecret')
    if (!/^[A-Za-z0-9+/]{43}=$/.test(secret))
      report.error(['clusterSecret'], 'The cluster’s secret is not 32 bytes in base64')
  },
  DiscoveryServiceConfig: (report) => {
    if (!/^(https?|grpc):\/\/[^/?#:]/.test(report.text('endpoint')))
      report.error(['endpoint'], 'The endpoint is a URL of http, https or grpc')
  },
  UnattendedInstallConfig: (report, talosVersion) => {
    if (!report.has('installer', 'image'))
      report.warn(
        'Without installer.image the installation fails unless the server booted an image of the image factory',
      )
    const path = ['provisioning', 'diskSelector', 'match']
    if (!report.has(...path)) report.error(['provisioning'], `Say which disk: ${path.join('.')}`)
    expression(report, path, 'disk', talosVersion)
  },
  SysctlConfig: (report) => noEmptyKey(report),
  SysfsConfig: (report) => noEmptyKey(report),
  EtcFileConfig: etcFile,
  CRICustomizationConfig: (report) => {
    const name = report.text('name')
    if (name !== '' && !isQualifiedName(name)) report.error(['name'], `${name} is not a valid name`)
    if (name === 'customization')
      report.error(['name'], 'The name customization is reserved for machine.files')
  },
  ContainerConfig: containerCheck,
  HTTPProbeConfig: (report) => {
    if (!/^https?:\/\/[^/?#:]/.test(report.text('url')))
      report.error(['url'], 'url must be a URL of http or https with a host')
    for (const field of ['interval', 'timeout']) notNegative(report, field)
  },
  VethConfig: (report) => {
    vethName(report, 'name')
    vethName(report, 'peer', 'name')
    if (report.text('name') === report.text('peer', 'name'))
      report.error(['peer', 'name'], 'The two ends need different names')
    link(report)
    link(report, ['peer'])
  },
  BGPInstanceConfig: bgp,
}

const noEmptyKey = (report: Report): void => {
  if (report.entries('params').some(({ key }) => key === ''))
    report.error(['params'], 'A parameter needs a name')
}
