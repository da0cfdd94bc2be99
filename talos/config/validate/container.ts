/** Rules for ContainerConfig (Talos `pkg/machinery/config/types/container`). */
import { sizeBytes } from '../formats.ts'
import { type Report, textOf } from '../report.ts'
import type { Check } from './forms.ts'

const mountOptions = new Set('ro rw noexec nosuid nodev noatime rbind rshared'.split(' '))

const absolute = (report: Report, path: string[]) => {
  if (!report.text(...path).startsWith('/'))
    report.error(path, `${path.at(-1)} must be an absolute path`)
}

function mounts(report: Report): void {
  const seen = new Set<string>()
  for (const { path } of report.items('mounts')) {
    const kinds = ['userVolume', 'tmpfs', 'hostPath'].filter((kind) => report.has(...path, kind))
    if (kinds.length !== 1) {
      report.error(path, 'A mount has exactly one of userVolume, tmpfs and hostPath')
      continue
    }
    const mount = [...path, kinds[0]!]
    if (kinds[0] === 'userVolume' && report.text(...mount, 'name') === '')
      report.error(mount, 'name is missing')
    if (kinds[0] === 'hostPath') absolute(report, [...mount, 'source'])
    absolute(report, [...mount, 'destination'])
    const options = report.texts(...mount, 'options')
    for (const { path: where, text } of options)
      if (!mountOptions.has(text)) report.error(where, `${text} is not a mount option`)
    if (['ro', 'rw'].every((one) => options.some(({ text }) => text === one)))
      report.error([...mount, 'options'], 'Use either ro or rw')
    const destination = report.text(...mount, 'destination')
    if (seen.has(destination)) report.error(mount, `${destination} is mounted twice`)
    seen.add(destination)
  }
}

function capabilities(report: Report): void {
  const lists = ['add', 'drop'].map((list) => report.texts('security', 'capabilities', list))
  for (const [i, list] of lists.entries())
    for (const { path, text } of list) {
      if (text === 'ALL' && i === 0)
        report.error(path, 'ALL can’t be added; use the profile privileged')
      else if (!/^[A-Z_]+$/.test(text) || text.startsWith('CAP_'))
        report.error(path, `${text || 'Nothing'} is not a capability such as NET_ADMIN`)
      else if (i === 0 && lists[1]!.some((other) => other.text === text))
        report.error(path, `${text} is both added and dropped`)
    }
}

export const containerCheck: Check = (report) => {
  const name = report.text('name')
  if (name !== '' && (name.length > 63 || !/^[a-z0-9-]+$/.test(name)))
    report.error(
      ['name'],
      'The name can only have lower case letters, digits and hyphens, 63 at most',
    )
  const image = report.text('image')
  if (!isImage(image)) report.error(['image'], `${image || 'Nothing'} is not the name of an image`)
  else if (!image.includes('@'))
    report.warn(`The image ${image} has no digest, so another one may run after a restart`)
  for (const { path, text } of report.texts('environment'))
    if (!text.includes('=')) report.error(path, 'A variable must be NAME=value')
  mounts(report)
  capabilities(report)
  const memory = report.text('resources', 'limits', 'memory')
  if (memory !== '' && sizeBytes(memory) === undefined)
    report.error(['resources', 'limits', 'memory'], `${memory} is not a size such as 512MiB`)
  const cpu = report.text('resources', 'limits', 'cpu')
  if (cpu !== '' && !/^0*[1-9]\d*m$/.test(cpu))
    report.error(['resources', 'limits', 'cpu'], `${cpu} is not a share such as 1500m`)
  for (const { path } of report.items('dependsOn', 'paths')) absolute(report, path)
  for (const { path, text } of report.texts('dependsOn', 'networks'))
    if (text === '') report.error(path, 'A condition of the network is missing')
  for (const { path, node } of report.items('dependsOn', 'containers')) {
    if (textOf(node) === '') report.error(path, 'A container needs a name')
    if (textOf(node) === name && name !== '')
      report.error(path, 'A container can’t wait for itself')
  }
}

/** An image reference (github.com/google/go-containerregistry, `name.ParseReference`). */
const isImage = (text: string): boolean =>
  /^([a-zA-Z0-9.-]+(:\d+)?\/)?[a-z0-9._/-]{2,255}(:[\w.-]{1,127})?(@sha256:[0-9a-f]{64})?$/.test(
    text,
  )
