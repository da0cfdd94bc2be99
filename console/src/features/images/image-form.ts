/** The draft of "Prepare image", and the request body. */
import * as z from 'zod/mini'
import {
  architectures,
  canPutServersIn,
  type Image,
  NewImage,
  type ImageFormat,
  imageFormats,
  ownKernelArgs,
} from '#contract/images.ts'
import { canUseJoinToken, type JoinToken } from '#contract/join-tokens.ts'
import { type Read, readBy } from '../../lib/fields.ts'
import { blankEarly, EarlyDraft, earlyDraftOf, earlyError, earlyOf } from './early-form.ts'

/** The explicit choice of no token. Servers that boot such an image do not announce themselves. */
export const noToken = 'none'

export const Draft = z.object({
  /** A version, or "" for the newest. */
  version: z.string(),
  arch: z.enum(architectures),
  secureboot: z.boolean(),
  extensions: z.array(z.string()),
  /** As typed: arguments separated by lines, or by a comma and a space. */
  kernelArgs: z.string(),
  format: z.enum(imageFormats),
  /** An id, or "" for none. */
  datacenter: z.string(),
  /** An id, `noToken`, or "" for nothing chosen yet. */
  token: z.string(),
  ...EarlyDraft.shape,
})
export type Draft = z.infer<typeof Draft>

export const blank: Draft = {
  version: '',
  arch: 'amd64',
  secureboot: false,
  extensions: [],
  kernelArgs: '',
  format: 'iso',
  datacenter: '',
  token: '',
  ...blankEarly,
}

/** Fills the form from an earlier image. Keeps the image's token if the token is still usable. */
export const draftOf = (image: Image): Draft => ({
  version: image.talos_version,
  arch: image.arch,
  secureboot: image.secureboot,
  extensions: image.extensions,
  kernelArgs: ownKernelArgs(image).join('\n'),
  format: image.format,
  datacenter: image.datacenter?.id ?? '',
  token: image.token === null ? noToken : canUseJoinToken(image.token).ok ? image.token.id : '',
  ...earlyDraftOf(image.early?.documents),
})

type TokenChoice = Pick<JoinToken, 'id' | 'name' | 'status' | 'datacenter'>

/**
 * A join token decides the datacenter of its servers, so a chosen token may set the datacenter, and
 * a chosen datacenter may clear the token.
 */
export const withToken = (
  draft: Draft,
  token: string,
  tokens: readonly TokenChoice[],
): Partial<Draft> => {
  const site = tokens.find((t) => t.id === token)?.datacenter?.id
  return { token, ...(draft.datacenter === '' && site !== undefined && { datacenter: site }) }
}
export const withDatacenter = (
  draft: Draft,
  datacenter: string,
  tokens: readonly TokenChoice[],
): Partial<Draft> => {
  const chosen = tokens.find((t) => t.id === draft.token)
  return {
    datacenter,
    ...(chosen !== undefined && (chosen.datacenter?.id ?? '') !== datacenter && { token: '' }),
  }
}
/** Usable tokens: those that fit the datacenter, and the others. */
export const choicesOf = <T extends TokenChoice>(
  tokens: readonly T[],
  datacenter: string,
): { fit: T[]; others: T[] } => {
  const usable = tokens.filter((t) => canUseJoinToken(t).ok)
  const fits = (t: T) => datacenter === '' || t.datacenter?.id === datacenter
  return { fit: usable.filter(fits), others: usable.filter((t) => !fits(t)) }
}

export const formatNames: Readonly<Record<ImageFormat, string>> = {
  iso: 'ISO',
  pxe: 'PXE',
  raw: 'RAW',
  qcow2: 'QCOW2',
}
export const formatHints: Readonly<Record<ImageFormat, string>> = {
  iso: 'A disc image for virtual media of a BMC, or a USB stick.',
  pxe: 'Booted over the network: an iPXE script, the kernel and its initramfs.',
  raw: 'A compressed disk image, to be written to the system disk.',
  qcow2: 'A disk image for virtual machines.',
}

/** "v1.13.9, arm64, SecureBoot" */
export const madeFor = (i: Pick<Image, 'talos_version' | 'arch' | 'secureboot'>): string =>
  [i.talos_version, i.arch, i.secureboot && 'SecureBoot'].filter(Boolean).join(', ')

/**
 * Arguments with the number of their line. They are separated by lines, or by a comma and a space.
 * Any other comma is part of an argument, as in `console=ttyS0,115200`: an argument contains no
 * spaces.
 */
const linedArgs = (text: string): { argument: string; line: number }[] =>
  text.split('\n').flatMap((line, i) =>
    `${line} `.split(/,\s/).flatMap((part) => {
      const argument = part.trim()
      return argument === '' ? [] : [{ argument, line: i + 1 }]
    }),
  )

export const argsOf = (text: string): string[] => linedArgs(text).map(({ argument }) => argument)

export type Field =
  | 'version'
  | 'extensions'
  | 'kernelArgs'
  | 'token'
  | 'datacenter'
  | keyof EarlyDraft
export type Body = z.output<typeof NewImage>

const fieldOf: Readonly<Record<string, Field>> = {
  talos_version: 'version',
  extensions: 'extensions',
  kernel_args: 'kernelArgs',
  token_id: 'token',
  datacenter_id: 'datacenter',
}

/**
 * Maps an error at "kernel_args.1" to the form's field, with the number of the line: "Line 2: …".
 * Empty lines are counted, because the user sees them.
 */
function placed(path: string, sentence: string, kernelArgs: string): [Field, string] | null {
  const early = earlyError(path, sentence)
  if (early !== null) return early
  const [name = '', index] = path.split('.')
  const field = fieldOf[name]
  if (field === undefined) return null
  if (field !== 'kernelArgs' || index === undefined) return [field, sentence]
  return [
    field,
    `Line ${linedArgs(kernelArgs)[Number(index)]?.line ?? Number(index) + 1}: ${sentence}`,
  ]
}

/** Maps the API's field errors to form fields. */
export function atFields(
  errors: Readonly<Record<string, string>>,
  kernelArgs: string,
): Partial<Record<Field, string>> {
  const fields: Partial<Record<Field, string>> = {}
  for (const [path, sentence] of Object.entries(errors)) {
    const at = placed(path, sentence, kernelArgs)
    if (at !== null) fields[at[0]] ??= at[1]
  }
  return fields
}

/** Further input of `readDraft`. `newest` is the default version. */
export interface Known {
  newest: string | undefined
  /** Undefined until they are loaded, as the datacenters: the server judges the token then. */
  tokens: readonly TokenChoice[] | undefined
  datacenters: readonly { id: string; code: string }[] | undefined
}

/** Validates the draft with the contract's schema and rules. */
export function readDraft(draft: Draft, { newest, tokens, datacenters }: Known): Read<Body> {
  const asked = {
    talos_version: draft.version === '' ? (newest ?? '') : draft.version,
    arch: draft.arch,
    secureboot: draft.secureboot,
    extensions: draft.extensions.toSorted(),
    kernel_args: argsOf(draft.kernelArgs),
    format: draft.format,
    datacenter_id: draft.datacenter === '' ? null : draft.datacenter,
    token_id: draft.token === '' || draft.token === noToken ? null : draft.token,
    early: earlyOf(draft),
  }
  const read = readBy(NewImage, asked)
  const fields = read.ok ? {} : atFields(read.fields, draft.kernelArgs)
  const token = tokenProblem(draft, tokens, datacenters)
  return read.ok && token === null
    ? read
    : { ok: false, fields: { ...fields, ...(token !== null && { token }) } }
}

function tokenProblem(
  draft: Draft,
  tokens: Known['tokens'],
  datacenters: Known['datacenters'],
): string | null {
  if (draft.token === '') return 'Choose a join token, or none'
  if (draft.token === noToken || !tokens || !datacenters) return null
  const token = tokens.find((t) => t.id === draft.token)
  if (token === undefined) return 'This join token no longer exists'
  const site = datacenters.find((d) => d.id === draft.datacenter) ?? null
  for (const verdict of [canUseJoinToken(token), canPutServersIn(token, site)])
    if (!verdict.ok) return verdict.reason
  return null
}
