/** Values of Talos's own services that they can't use when running. */
import { addressOf, includes } from '../network-effect/addresses.ts'
import { quoted, type RuntimeRule } from './rule.ts'

const gib = 1024 ** 3
const units: Readonly<Record<string, number>> = {
  '': 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 1024,
  MIB: 1024 ** 2,
  GIB: gib,
  TIB: 1024 ** 4,
}

/** Bytes of `10GiB`, as Talos reads it (`dustin/go-humanize`, ParseBytes); null for another text. */
export function bytesOf(text: string): number | null {
  const [, amount, unit = ''] = /^([\d.]+)\s*([a-z]*)$/i.exec(text.trim()) ?? []
  const factor =
    units[
      unit
        .toUpperCase()
        .replace(/^([KMGT])$/, '$1B')
        .replace(/^B$/, '')
    ]
  const bytes = Number(amount) * (factor ?? Number.NaN)
  return Number.isFinite(bytes) ? bytes : null
}

export const serviceRules: readonly RuntimeRule[] = [
  {
    id: 'logging-endpoint',
    source:
      'Talos internal/app/machined/pkg/runtime/logging/sender_jsonlines.go dials the host and port of the URL; without a port Go says "missing port in address"',
    level: 'refuse',
    *find({ main }) {
      for (const { path } of main.items('machine', 'logging', 'destinations')) {
        const text = main.text(...path, 'endpoint')
        const [, scheme, port] =
          /^([a-z]+):\/\/(?:\[[\da-f:.]+\]|[^/:\s]+)(?::(\d+))?\/?$/i.exec(text) ?? []
        const problem =
          scheme === undefined || !['tcp', 'udp'].includes(scheme)
            ? 'must be a URL such as tcp://logs.example.org:6514'
            : port === undefined
              ? 'needs a port'
              : null
        if (text !== '' && problem !== null)
          yield {
            document: main,
            path: [...path, 'endpoint'],
            sentence: `The destination of logs ${quoted(text)} ${problem}, so no log arrives there`,
          }
      }
    },
  },
  {
    id: 'udev-rule',
    source:
      'systemd src/udev/udev-rules.c, parse_line: an invalid line is ignored. Talos writes machine.udev.rules to one file',
    level: 'warn',
    *find({ main }) {
      for (const { path, text } of main.texts('machine', 'udev', 'rules')) {
        const rule = text.trim()
        if (rule === '' || rule.startsWith('#')) continue
        const bare = rule.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll(/\{[^{}]*\}/g, '')
        const problem = bare.replaceAll('""', '').includes('"')
          ? 'has a quote that is not closed'
          : !/^[A-Z_]+\s*(?:[=!]=|[+:-]?=)/.test(bare)
            ? 'does not begin with KEY=="value" or KEY="value"'
            : /""\s*[A-Z]/.test(bare)
              ? 'has no comma between two keys'
              : null
        if (problem !== null)
          yield {
            document: main,
            path,
            sentence: `The udev rule ${quoted(rule)} ${problem}, so udev ignores it`,
          }
      }
    },
  },
  {
    id: 'cluster-dns-address',
    source:
      'Kubernetes cmd/kubelet: --cluster-dns is written into the resolv.conf of pods. Only addresses of the service network belong to Services',
    level: 'warn',
    *find({ main }) {
      const services = main.texts('cluster', 'network', 'serviceSubnets').map(({ text }) => text)
      for (const { path, text } of main.texts('machine', 'kubelet', 'clusterDNS')) {
        const address = addressOf(text)
        // Caches of DNS on the nodes have addresses of the link, such as 169.254.20.10.
        if (address === undefined || /^(?:169\.254\.|fe80)/i.test(text)) continue
        if (services.length > 0 && !services.some((network) => includes(network, address)))
          yield {
            document: main,
            path,
            sentence: `No Service can have the DNS address ${text}, because it is not in the service network, so pods may resolve no names`,
          }
      }
    },
  },
  {
    id: 'ephemeral-size',
    source:
      'Talos pkg/machinery/imager/quirks/partitions.go, EphemeralMinSize: 2 GiB, unless minSize says otherwise',
    level: 'refuse',
    *find(config) {
      for (const document of config.of('VolumeConfig')) {
        if (document.text('name') !== 'EPHEMERAL') continue
        const path = ['provisioning', 'maxSize']
        const most = bytesOf(document.text(...path))
        if (most !== null && most < 2 * gib && !document.has('provisioning', 'minSize'))
          yield {
            document,
            path,
            sentence: `EPHEMERAL needs at least 2 GiB, and more than ${document.text(...path)} for images and logs, so it is not created`,
          }
      }
    },
  },
]
