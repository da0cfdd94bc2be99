/**
 * The patch form: values, validation by the contract's rules, and the request body. The API's
 * preview validates the patch body.
 */
import * as z from 'zod/mini'
import { NewPatch, type Patch, patchLimits, patchMask, tooLongPatch } from '#contract/patches.ts'
import { type Read, readBy } from '../../lib/fields.ts'
import { cliOf } from '../../lib/shell.ts'

export interface PatchDraft {
  name: string
  /** As typed; valid only if it is a whole number. */
  weight: string
  labels: Record<string, string>
  body: string
}

export const emptyDraft: PatchDraft = {
  name: '',
  weight: String(patchLimits.weight.default),
  labels: {},
  body: '',
}

export const draftOf = (patch: Pick<Patch, 'name' | 'weight' | 'labels' | 'body'>): PatchDraft => ({
  name: patch.name,
  weight: String(patch.weight),
  labels: patch.labels,
  body: patch.body,
})

/** A whole number, or NaN, which the contract's rule refuses. */
export const weightOf = (text: string): number =>
  /^-?\d+$/.test(text.trim()) ? Number(text.trim()) : Number.NaN

/** Schema of a stored draft. */
export const Draft = z.object({
  name: z.string(),
  weight: z.string(),
  labels: z.record(z.string(), z.string()),
  body: z.string(),
})

/** The requested patch, or a sentence per field. `others`: names of the server's other patches. */
export const readForm = (draft: PatchDraft, others: readonly string[]): Read<NewPatch> =>
  readBy(NewPatch, toSend(draft), {
    ...(others.includes(draft.name.trim()) && {
      name: 'Patch name already exists. Please choose a different name.',
    }),
    ...(Number.isNaN(weightOf(draft.weight)) && { weight: 'Weight must be a whole number' }),
    ...(draft.body.trim() === '' && { body: 'Enter a patch' }),
    ...(bodyBytes(draft.body) > patchLimits.bodyBytes && { body: tooLongPatch }),
  })

export const toSend = (draft: PatchDraft): NewPatch => ({
  name: draft.name.trim(),
  weight: weightOf(draft.weight),
  labels: draft.labels,
  body: draft.body,
})

/** The changed fields. Only these are sent. */
export function changes(
  draft: PatchDraft,
  patch: Pick<Patch, 'name' | 'weight' | 'labels' | 'body'>,
): Partial<NewPatch> {
  const next = toSend(draft)
  return {
    ...(next.name !== patch.name && { name: next.name }),
    ...(next.weight !== patch.weight && { weight: next.weight }),
    ...(!sameLabels(next.labels, patch.labels) && { labels: next.labels }),
    ...(next.body !== patch.body && { body: next.body }),
  }
}

/**
 * What overwrites a newer version, without a body of the opened version that has masks: they stood
 * for secrets of that version, and the newer one may have others in these places.
 */
export function withoutMasked<Sent extends { body?: string | undefined }>(
  sent: Sent,
  opened: { body: string },
): Omit<Sent, 'body'> & { body?: string | undefined } {
  const { body, ...rest } = sent
  return body === opened.body && body.includes(patchMask) ? rest : sent
}
/** Said after an overwrite that left the body out. */
export const textStays =
  'Its text is still that of the newer version, because yours contains hidden values'

/**
 * The CLI command, with the body in a here-document. For an edit the command contains only the
 * changed fields.
 */
export function commandOf(
  server: string,
  draft: PatchDraft,
  patch: Pick<Patch, 'name' | 'weight' | 'labels' | 'body'> | null,
): string {
  const { name, weight, labels, body } = patch === null ? toSend(draft) : changes(draft, patch)
  const given = labels && Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  const options = { weight, label: given, ...(body !== undefined && { file: '/dev/stdin' }) }
  const command =
    patch === null
      ? cliOf(['patch', 'create', server, name ?? ''], options)
      : cliOf(['patch', 'edit', server, patch.name], {
          name,
          ...options,
          'no-labels': given?.length === 0,
        })
  if (body === undefined) return command
  // The delimiter must not be a line of the body.
  let end = 'EOF'
  while (body.split('\n').includes(end)) end += '_'
  return `${command} <<'${end}'\n${body.replace(/\n$/, '')}\n${end}`
}

function sameLabels(a: Record<string, string>, b: Record<string, string>): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

export const bodyBytes = (body: string): number => new TextEncoder().encode(body).length
