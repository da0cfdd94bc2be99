import {
  architectures,
  extensionList,
  type Image,
  imageCreate,
  imageFactoryGet,
  imageFormats,
  imageGet,
  imageList,
  imageRegister,
  imageRemove,
} from '#contract/images.ts'
import { addressTable } from '#contract/images/early.ts'
import { type OfferedTalos, supportEnded, versionList } from '#contract/versions.ts'
import {
  command,
  type Command,
  type Context,
  given,
  listCommand,
  objectCommand,
} from '../command.ts'
import { CliError } from '../exit.ts'
import { readText } from '../files.ts'
import * as noun from '../nouns.ts'
import { type Column, facts, table } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { localTime, manyLines, oneLine } from '../text.ts'

const earlyWay = ({ way, line_left }: NonNullable<Image['early']>): string =>
  way === 'embedded'
    ? 'documents in the image'
    : `documents on the kernel command line, which has ${line_left} characters left`

/** Splits `ghcr.io=https://a.example,https://b.example`. */
function mirrorOf(text: string) {
  const at = text.indexOf('=')
  if (at < 1)
    throw new CliError(
      'usage',
      `Write a mirror as ghcr.io=https://registry.example, not ${oneLine(text)}`,
    )
  return { registry: text.slice(0, at), endpoints: text.slice(at + 1).split(',') }
}

/** What the servers know before they join, or undefined without such options. */
async function earlyOf(o: {
  readonly 'trusted-root': readonly string[]
  readonly network: string | undefined
  readonly addresses: string | undefined
  readonly 'name-server': string[]
  readonly 'time-server': string[]
  readonly 'registry-mirror': readonly string[]
}) {
  const roots = []
  for (const path of o['trusted-root']) roots.push(await readText(path))
  const network = {
    static_addresses: o.addresses === undefined ? [] : addressTable(await readText(o.addresses)),
    name_servers: o['name-server'],
    documents: o.network === undefined ? '' : await readText(o.network),
  }
  const hasNetwork =
    o.network !== undefined || o.addresses !== undefined || o['name-server'].length > 0
  const early = {
    trusted_roots: roots,
    network: hasNetwork ? network : null,
    time_servers: o['time-server'],
    registry_mirrors: o['registry-mirror'].map(mirrorOf),
  }
  return hasNetwork || Object.values(early).some((part) => Array.isArray(part) && part.length > 0)
    ? early
    : undefined
}

function imageText(terminal: Terminal, i: Image): string {
  return [
    facts(terminal, [
      ['Id', i.id],
      ['Talos', `${i.talos_version}, ${i.arch}${i.secureboot ? ', SecureBoot' : ''}`],
      ['Extensions', i.extensions.join(', ')],
      ['Datacenter', i.datacenter?.code],
      ['Join token', i.token?.name],
      ['Schematic', i.schematic_id],
      [
        'Factory',
        `${i.factory.url}${i.factory.simulated ? ' (simulated: its files boot no real machine)' : ''}`,
      ],
      [
        'Registered',
        i.factory.registered_at === null
          ? `no: ${i.factory.reason ?? 'the factory has not been contacted yet'}`
          : localTime(i.factory.registered_at),
      ],
      ...i.links.map((l) => [l.format.toUpperCase(), l.url] as const),
      ['Kernel command line', i.kernel_command_line],
      ...(i.early === null ? [] : [['Before they join', earlyWay(i.early)] as const]),
    ]),
    ...i.warnings.map((w) => `Warning: ${oneLine(w)}\n`),
    ...(i.early === null
      ? []
      : [`\nDOCUMENTS BEFORE THEY JOIN\n${manyLines(i.early.yaml.trimEnd())}\n`]),
    `\nSCHEMATIC\n${manyLines(i.schematic)}\nPXE SCRIPT\n${manyLines(i.pxe_script.trimEnd())}\n`,
  ].join('')
}

/** An image that the factory hasn't confirmed can't be downloaded yet, so the command fails. */
function showImage({ terminal, show }: Context, image: Image): number | undefined {
  show(image, (i) => imageText(terminal, i))
  return image.factory.registered_at === null ? 1 : undefined
}

const versionColumns: readonly Column<OfferedTalos>[] = [
  { title: 'TALOS', text: (v) => v.talos_version },
  {
    title: 'SUPPORT',
    text: (v) => supportEnded(v.support) ?? 'supported',
    colour: (v) => (v.support.ended ? 'yellow' : 'green'),
  },
  { title: 'KUBERNETES', text: (v) => `${v.kubernetes_minors[0]} to ${v.kubernetes_minors[1]}` },
  {
    title: 'OF THESE SUPPORTED',
    text: (v) =>
      v.kubernetes
        .filter((k) => !k.support.ended)
        .map((k) => k.version)
        .join(', ') || 'none',
  },
]

/** Commands about Talos versions and boot images. */
export const imageCommands: Command[] = [
  command({
    name: 'versions',
    summary: 'Talos and Kubernetes versions for new clusters, newest first.',
    options: {
      prereleases: { kind: 'flag', help: 'Include alphas, betas and release candidates' },
    },
    examples: ['versions', 'versions --json'],
    async run({ terminal, api, show }, { options }) {
      const answer = await api.call(versionList, {
        query: options.prereleases ? { prereleases: 'true' } : {},
      })
      for (const notice of answer.notices) terminal.err(`${oneLine(notice)}\n`)
      if (answer.reason !== null)
        terminal.err(
          `${oneLine(answer.reason)}. ${answer.source === 'shipped' ? 'These versions were shipped with Steelyard.' : 'This is the last list of versions that the factory returned.'}\n`,
        )
      show(answer, ({ items }) => table(terminal, items, versionColumns, 'No versions'))
    },
  }),
  listCommand({ name: 'image list', operation: imageList, cells: {} }),
  objectCommand({
    name: 'image show',
    of: noun.image,
    operation: imageGet,
    summary: 'One image: schematic, links, PXE script and kernel command line.',
    say: (i, _name, { terminal }) => imageText(terminal, i),
  }),
  command({
    name: 'image create',
    summary: 'Prepare a boot image for servers; exits 1 if the factory has not registered it yet.',
    options: {
      'talos-version': {
        kind: 'text',
        value: 'VERSION',
        help: 'Talos version; the newest if not given',
      },
      arch: {
        kind: 'text',
        value: 'ARCH',
        help: 'Architecture, amd64 if not given',
        choices: architectures,
      },
      secureboot: { kind: 'flag', help: 'Use an image that is signed for SecureBoot' },
      extension: {
        kind: 'text',
        value: 'NAME',
        help: 'Extension such as siderolabs/gvisor',
        many: true,
      },
      'kernel-arg': {
        kind: 'text',
        value: 'ARG',
        help: 'Extra kernel argument; a leading minus removes a default argument',
        many: true,
        whole: true,
      },
      format: {
        kind: 'text',
        value: 'FORMAT',
        help: 'Kind of file; default: iso',
        choices: imageFormats,
      },
      datacenter: { kind: 'text', value: 'CODE', help: 'Datacenter of the servers' },
      'trusted-root': {
        kind: 'text',
        value: 'FILE',
        help: 'Certificate in PEM of an authority that the servers trust before they join',
        many: true,
      },
      network: {
        kind: 'text',
        value: 'FILE',
        help: 'Talos documents of the network, such as BondConfig and VLANConfig, that the servers need to reach Steelyard',
      },
      addresses: {
        kind: 'text',
        value: 'FILE',
        help: 'Table of static addresses: a line with MAC address, address/length and gateway for each server',
      },
      'name-server': { kind: 'text', value: 'ADDRESS', help: 'Name server', many: true },
      'time-server': { kind: 'text', value: 'HOST', help: 'Time server', many: true },
      'registry-mirror': {
        kind: 'text',
        value: 'HOST=URL',
        help: 'Address from which the images of a registry are taken, such as ghcr.io=https://registry.example',
        many: true,
      },
      token: {
        kind: 'text',
        value: 'NAME',
        help: 'Join token with which the servers announce themselves',
      },
      'idempotency-key': {
        kind: 'text',
        value: 'KEY',
        help: 'Idempotency key: the same command with the same key within 24 h is carried out only once',
      },
    },
    examples: [
      'image create --token rack-3 --trusted-root site-ca.pem --network bond.yaml --addresses rack-3.csv',
      'image create --talos-version v1.13.9 --extension siderolabs/gvisor --kernel-arg console=ttyS0,115200 --token rack-3',
    ],
    async run(context, { options: o }) {
      const { api } = context
      const version = o['talos-version'] ?? (await api.call(imageFactoryGet, {})).versions[0]
      if (version === undefined)
        throw new CliError('failure', 'The image factory builds no version that Steelyard knows')
      const body = {
        talos_version: version,
        secureboot: o.secureboot,
        extensions: o.extension,
        kernel_args: o['kernel-arg'],
        ...given({
          arch: o.arch,
          format: o.format,
          datacenter_id:
            o.datacenter === undefined
              ? undefined
              : await noun.idOf(api, noun.datacenter, o.datacenter),
          token_id:
            o.token === undefined ? undefined : await noun.idOf(api, noun.joinToken, o.token),
          early: await earlyOf(o),
        }),
      }
      return showImage(
        context,
        await api.call(imageCreate, { body }, { idempotencyKey: o['idempotency-key'] }),
      )
    },
  }),
  objectCommand({
    name: 'image register',
    of: noun.image,
    operation: imageRegister,
    done: showImage,
  }),
  objectCommand({
    name: 'image remove',
    of: noun.image,
    operation: imageRemove,
    summary: 'Remove a prepared image; its links keep working.',
    say: () => 'The image is removed\n',
  }),
  listCommand({
    name: 'image extensions',
    summary: 'Extensions that the image factory has for a Talos version.',
    examples: ['image extensions v1.13.9 --search nvidia'],
    operation: extensionList,
    cells: {},
    operands: { version: { value: 'VERSION', help: 'Talos version such as v1.13.9' } },
    ask: async (_context, { operands }) => ({ query: { version: operands.version } }),
  }),
]
