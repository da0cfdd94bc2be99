/** Large texts in lists and in the audit log: how long they are, their digest, and how they begin. */
import * as z from 'zod/mini'
import { bounding, startOf } from './text.ts'

/** Bytes of the start of a large text, as JSON writes it. */
export const excerptBytes = 4096

export const Excerpt = z.object({
  /** Length of the whole text in UTF-8. */
  bytes: z.int(),
  /** SHA-256 of the whole text in UTF-8, hex. */
  sha256: z.string().check(z.maxLength(64)),
  /** The first 4 KiB; the whole text if it isn't longer. */
  start: z
    .string()
    .check(z.overwrite(bounding(excerptBytes + 2, (text: string) => startOf(text, excerptBytes)))),
})
export type Excerpt = z.infer<typeof Excerpt>

/** The whole text, or undefined if the excerpt is only its beginning. */
export const wholeText = ({ bytes, start }: Excerpt): string | undefined =>
  new TextEncoder().encode(start).length === bytes ? start : undefined
