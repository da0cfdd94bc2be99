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
import { listCommand } from '../list-command.ts'
import { command, type Command, given } from '../command.ts'
import { CliError } from '../exit.ts'
import { datacenterId, idOf, joinTokenId } from '../resolve.ts'
import { facts } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { localTime, manyLines, oneLine } from '../text.ts'

function imageText(terminal: Terminal, i: Image): string {
  return [
    facts(terminal, [
      ['Id', i.id],
      ['Talos', `${i.talos_version}, ${i.arch}${i.secureboot ? ', SecureBoot' : ''}`],
      ['Extensions', i.extensions.join(', ')],
      ['Datacenter', i.datacenter?.code],
      ['Join token', i.token?.name],
      ['Schematic', i.schematic_id],
      ['Factory', `${i.factory.url}${i.factory.simulated ? ' (simulated: its files boot no real machine)' : ''}`],
      ['Registered', i.factory.registered_at === null ? `no: ${i.factory.reason ?? 'the factory was not asked yet'}` : localTime(i.factory.registered_at)],
      ...i.links.map((l) => [l.format.toUpperCase(), l.url] as const),
      ['Kernel command line', i.kernel_command_line],
    ]),
    ...i.warnings.map((w) => `Warning: ${oneLine(w)}\n`),
    `\nSCHEMATIC\n${manyLines(i.schematic)}\nPXE SCRIPT\n${manyLines(i.pxe_script.trimEnd())}\n`,
  ].join('')
}

const operand = { image: { value: 'IMAGE', help: 'Id of the image' } } as const
/** An image that the factory doesn't know can't be downloaded yet, so the command fails. */
const exitOf = (i: Image) => (i.factory.registered_at === null ? 1 : undefined)

export const imageCommands: Command[] = [
  listCommand({
    name: 'image list',
    summary: 'Images that were prepared, newest first.',
    examples: ['image list'],
    operation: imageList,
    shown: ['id', 'created_at', 'talos_version', 'arch', 'extensions', 'datacenter', 'token', 'factory'],
    cells: {},
  }),
  command({
    name: 'image show',
    summary: 'One image: schematic, links, PXE script and kernel command line.',
    operands: operand,
    examples: ['image show 0198c0de-0000-7000-8000-000000000001'],
    async run({ terminal, api, show }, { operands }) {
      show(await api.call(imageGet, { params: { id: idOf('image', operands.image) } }), (i) => imageText(terminal, i))
    },
  }),
  command({
    name: 'image create',
    summary: 'Prepare an image that servers boot; exits 1 if the factory does not know it yet.',
    options: {
      'talos-version': { kind: 'text', value: 'VERSION', help: 'Talos version; the newest if not given' },
      arch: { kind: 'text', value: 'ARCH', help: 'Architecture, amd64 if not given', choices: architectures },
      secureboot: { kind: 'flag', help: 'For machines that boot signed images only' },
      extension: { kind: 'text', value: 'NAME', help: 'Extension such as siderolabs/gvisor', many: true },
      'kernel-arg': { kind: 'text', value: 'ARG', help: 'Extra kernel argument; one with a minus in front takes a default away', many: true, whole: true },
      format: { kind: 'text', value: 'FORMAT', help: 'File, iso if not given', choices: imageFormats },
      datacenter: { kind: 'text', value: 'CODE', help: 'Where the servers will stand' },
      token: { kind: 'text', value: 'NAME', help: 'Join token with which the servers announce themselves' },
      'idempotency-key': { kind: 'text', value: 'KEY', help: 'Given again with the same command, it is done once (24 h)' },
    },
    examples: ['image create --talos-version v1.13.9 --extension siderolabs/gvisor --kernel-arg console=ttyS0,115200 --token rack-3'],
    async run({ terminal, api, show }, { options: o }) {
      const version = o['talos-version'] ?? (await api.call(imageFactoryGet, {})).versions[0]
      if (version === undefined) throw new CliError('failure', 'The image factory builds no version that Steelyard knows')
      const body = {
        talos_version: version,
        secureboot: o.secureboot,
        extensions: o.extension,
        kernel_args: o['kernel-arg'],
        ...given({ arch: o.arch, format: o.format }),
        ...(o.datacenter !== undefined && { datacenter_id: await datacenterId(api, o.datacenter) }),
        ...(o.token !== undefined && { token_id: await joinTokenId(api, o.token) }),
      }
      const image = await api.call(imageCreate, { body }, { idempotencyKey: o['idempotency-key'] })
      show(image, (i) => imageText(terminal, i))
      return exitOf(image)
    },
  }),
  command({
    name: 'image register',
    summary: "Give the factory an image's schematic again.",
    operands: operand,
    examples: ['image register 0198c0de-0000-7000-8000-000000000001'],
    async run({ terminal, api, show }, { operands }) {
      const image = await api.call(imageRegister, { params: { id: idOf('image', operands.image) } })
      show(image, (i) => imageText(terminal, i))
      return exitOf(image)
    },
  }),
  command({
    name: 'image remove',
    summary: 'Forget a prepared image; its links go on working.',
    operands: operand,
    examples: ['image remove 0198c0de-0000-7000-8000-000000000001'],
    async run({ api, show }, { operands }) {
      await api.call(imageRemove, { params: { id: idOf('image', operands.image) } })
      show({ id: operands.image }, () => 'The image is forgotten\n')
    },
  }),
  listCommand({
    name: 'image extensions',
    summary: 'Extensions that the image factory has for a Talos version.',
    examples: ['image extensions v1.13.9 --search nvidia'],
    operation: extensionList,
    shown: ['name', 'tier', 'description'],
    cells: {},
    operands: { version: { value: 'VERSION', help: 'Talos version such as v1.13.9' } },
    ask: async (_context, { operands }) => ({ query: { version: operands.version } }),
  }),
]
