/**
 * Boot images. Steelyard writes the schematic and computes its id; the image factory confirms the
 * id and builds the image.
 */
import * as z from 'zod/mini'
import { LeftOut } from './bounds/rows.ts'
import {
  codeText,
  lineText,
  nameText,
  personText,
  sentenceText,
  urlText,
  wordText,
} from './bounds/fields.ts'
import { ExtensionNames, KernelArgs } from './images/customization.ts'
import { EarlyDocuments, earlyWays } from './images/early.ts'
import { joinTokenStatuses } from './join-tokens.ts'
import { list, listOperation } from './list.ts'
import { callsOf } from './object-calls.ts'
import { operation, type Words } from './operation.ts'
import { time } from './page.ts'
import { type Limit, no, type Verdict, yes } from './rule.ts'
import { talosVersionText } from './versions.ts'

export const architectures = ['amd64', 'arm64'] as const
export const imageFormats = ['iso', 'pxe', 'raw', 'qcow2'] as const
export type ImageFormat = (typeof imageFormats)[number]
/** The image factory's last response. */
export const ImageFactory = z.object({
  url: z.string(),
  /** True for the simulator's factory, whose files boot no real machine. */
  simulated: z.boolean(),
  reachable: z.boolean(),
  reason: z.nullable(z.string()),
  /**
   * Talos versions that the factory builds and Steelyard supports, newest first. If the factory
   * does not respond, Steelyard's own list.
   */
  versions: z.array(z.string()),
})
export const imageFactoryGet = operation(
  'imageFactoryGet',
  'GET /v1/images/factory',
  'servers:read',
  {
    summary: 'The image factory: its address, whether it answers, and the versions that it builds.',
    answer: ImageFactory,
  },
)

/** Support tiers of extensions: the first word of the extension's description. */
export const extensionTiers = ['core', 'extra', 'contrib'] as const
export const Extension = z.object({
  /** `siderolabs/gvisor` */
  name: nameText,
  ref: lineText,
  author: lineText,
  description: sentenceText,
  tier: z.nullable(z.enum(extensionTiers)),
})
export type Extension = z.infer<typeof Extension>
const extensions = list<Extension>()({
  nouns: ['extension', 'extensions'],
  columns: {
    name: { label: 'Name', sort: true, value: (e: Extension) => e.name },
    tier: { label: 'Tier', value: (e: Extension) => e.tier },
    description: { label: 'Description', value: (e: Extension) => e.description },
  },
  order: 'name',
})

export const extensionList = listOperation(extensions, Extension, {
  name: 'extensionList',
  summary: 'Extensions that the factory has for a Talos version.',
  path: '/v1/images/extensions',
  scope: 'servers:read',
  more: { version: talosVersionText() },
  errors: ['factory_unreachable', 'factory_refused'],
})

export const NewImage = z.strictObject({
  talos_version: talosVersionText(),
  arch: z._default(z.enum(architectures), 'amd64'),
  secureboot: z._default(z.boolean(), false),
  extensions: z._default(ExtensionNames, []),
  kernel_args: z._default(KernelArgs, []),
  format: z._default(z.enum(imageFormats), 'iso'),
  /**
   * The datacenter of servers that boot the image. Can be left out if the token has a datacenter.
   */
  datacenter_id: z._default(z.nullable(z.uuid()), null),
  /**
   * Join token of the image. null: servers do not announce themselves, so a user adds them by
   * address.
   */
  token_id: z._default(z.nullable(z.uuid()), null),
  /** What the servers know before they reach Steelyard; null: nothing, they use DHCP. */
  early: z._default(z.nullable(EarlyDocuments), null),
})
export type NewImage = z.infer<typeof NewImage>

export const ImageLink = z.object({ format: z.enum(imageFormats), url: z.string() })

export const Image = z.object({
  id: z.uuid(),
  talos_version: codeText,
  arch: z.enum(architectures),
  secureboot: z.boolean(),
  extensions: z.array(z.string()),
  /**
   * All kernel arguments, including the one with the join token. Callers without `servers:write`
   * see `…` in place of the token.
   */
  kernel_args: z.array(z.string()),
  format: z.enum(imageFormats),
  datacenter: z.nullable(z.object({ id: z.uuid(), code: codeText })),
  token: z.nullable(z.object({ id: z.uuid(), name: codeText, status: z.enum(joinTokenStatuses) })),
  /**
   * Lower-case hexadecimal SHA-256 of the schematic's text including the token, computed here and
   * confirmed by the factory. If the factory writes the same schematic with other quotes, this is
   * the hash of the factory's text.
   */
  schematic_id: wordText,
  /** The YAML that the factory receives. */
  schematic: z.string(),
  factory: z.object({
    url: urlText,
    simulated: z.boolean(),
    /** When the factory confirmed this id; null: the links don't work yet. */
    registered_at: z.nullable(time),
    /** Why the factory has not confirmed the id. */
    reason: z.nullable(sentenceText),
  }),
  /** Link to the chosen format. */
  url: urlText,
  links: z.array(ImageLink),
  /** An iPXE script equivalent to the script of the factory. */
  pxe_script: z.string(),
  /**
   * The kernel command line: Talos's defaults for the version and architecture, then `kernel_args`.
   * An ISO adds `talos.halt_if_installed=1`.
   */
  kernel_command_line: z.string(),
  /** What the servers know before they reach Steelyard. */
  early: z.nullable(
    z.object({
      documents: EarlyDocuments,
      /** The Talos documents, in YAML. */
      yaml: z.string(),
      /** `embedded`: as a file of the image; `kernel_line`: as an argument, if the factory lacks it. */
      way: z.enum(earlyWays),
      /** Characters that are left on the kernel command line. */
      line_left: z.int(),
    }),
  ),
  /** Sentences about why servers might not boot as expected. */
  warnings: z.array(z.string()),
  created_by: z.nullable(personText),
  created_at: time,
  version: z.int(),
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
})
export type Image = z.infer<typeof Image>

const images = list<Image>()({
  nouns: ['image', 'images'],
  large: {
    extensions: [],
    kernel_args: [],
    schematic: '',
    links: [],
    pxe_script: '',
    kernel_command_line: '',
    early: null,
    warnings: [],
  },
  mostPerPage: 200,
  columns: {
    id: { label: 'Id', kind: 'mono', value: (i: Image) => i.id },
    created_at: { label: 'Made', kind: 'time', sort: true, value: (i: Image) => i.created_at },
    talos_version: { label: 'Talos', sort: true, value: (i: Image) => i.talos_version },
    arch: { label: 'Arch', value: (i: Image) => `${i.arch}${i.secureboot ? ', SecureBoot' : ''}` },
    extensions: {
      label: 'Extensions',
      value: (i: Image) =>
        i.extensions.map((e) => e.replace(/^siderolabs\//, '')).join(', ') || null,
    },
    datacenter: { label: 'Datacenter', value: (i: Image) => i.datacenter?.code ?? null },
    token: { label: 'Token', value: (i: Image) => i.token?.name ?? null },
    factory: {
      label: 'Factory',
      value: (i: Image) =>
        i.factory.registered_at === null
          ? 'not registered'
          : i.factory.simulated
            ? 'simulated'
            : 'registered',
    },
  },
  order: '-created_at',
})

const calls = callsOf(
  'image',
  '/v1/images',
  { read: 'servers:read', write: 'servers:write' },
  Image,
)
export const imageLimit: Limit = {
  most: 5_000,
  nouns: 'images',
  remedy: 'remove one that is not used any more',
}

export const imageList = calls.list(images, 'Images that were prepared, newest first.')
export const imageGet = calls.get('One prepared image.')
export const imageCreate = calls.create({
  summary:
    'Prepare an image. If the factory does not answer, the image is kept unregistered, with the reason, and can be registered later.',
  body: NewImage,
  errors: ['not_found', 'conflict', 'factory_refused'],
})
export const imageRegister = operation(
  'imageRegister',
  'POST /v1/images/{id}/register',
  'servers:write',
  {
    summary: "Register an image's schematic with the factory again.",
    kept: true,
    answer: Image,
    errors: ['conflict', 'factory_refused', 'factory_unreachable'],
  },
)
export const imageRemove = calls.remove(
  'Remove a prepared image. Its links keep working, because the factory keeps the schematic.',
  ['stale'],
)

/**
 * The token decides the datacenter of servers, so an image can't name a different one. `datacenter`
 * null means the token's datacenter.
 */
export function canPutServersIn(
  token: {
    readonly name: string
    readonly datacenter: { readonly id: string; readonly code: string } | null
  },
  datacenter: { readonly id: string; readonly code: string } | null,
): Verdict {
  if (datacenter === null || datacenter.id === token.datacenter?.id) return yes
  return no(
    `The join token ${token.name} puts servers in ${token.datacenter?.code ?? 'no datacenter'}, not in ${datacenter.code}: choose another token`,
  )
}

/** Whether Steelyard adds the argument to an image: how its servers announce themselves. */
export const isSetBySteelyard = (arg: string): boolean => /^talos\.config(?:\.early)?=/.test(arg)

/** The kernel arguments that the user entered for the image, without those that Steelyard adds. */
export const ownKernelArgs = (image: Pick<Image, 'kernel_args'>): string[] =>
  image.kernel_args.filter((arg) => !isSetBySteelyard(arg))

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Extension: [Extension, 'A Talos system extension that an image can contain.'],
    Image: [
      Image,
      'A prepared image: its schematic, the links to its files, the PXE script and the kernel command line.',
    ],
    NewImage: [NewImage, 'An image to prepare.'],
  },
  fields: {
    arch: 'Processor architecture.',
    early:
      'What the servers know before they reach Steelyard: authorities, addresses, time servers, registries.',
    extensions: 'Names of system extensions.',
    format: 'Kind of file.',
    kernel_args: 'Additional kernel arguments, one per item.',
    secureboot: 'True: the image is signed for SecureBoot.',
    'imageCreate.talos_version': 'Version of Talos on the image.',
    token_id:
      'Join token that the servers announce themselves with; null: the servers are added by address.',
    version: 'Talos version.',
  },
  bodies: {
    imageCreate: {
      talos_version: 'v1.13.9',
      extensions: ['siderolabs/amd-ucode'],
      format: 'pxe',
      token_id: '00000000-0000-4000-8000-000000000006',
    },
  },
}
