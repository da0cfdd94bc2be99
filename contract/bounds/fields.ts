/**
 * Texts and arrays in responses, with their bounds. A longer text is cut when it is sent, so that
 * what an older version stored stays readable. Sizes are bytes of JSON (`text.ts`).
 */
import * as z from 'zod/mini'
import { bounding, holding, startOf } from './text.ts'

const upTo = (mostBytes: number) =>
  z.string().check(z.overwrite(bounding(mostBytes + 2, (text: string) => startOf(text, mostBytes))))

/** Codes, versions, addresses, ids that aren't UUIDs, and names by the rules of `names.ts`. */
export const codeText = upTo(64)
/** Digests, names of devices, host names in reports. */
export const wordText = upTo(128)
/** Names that people write freely, and names of files. */
export const nameText = upTo(300)
/** One line: what hardware and programs say of themselves, the user agent of a browser. */
export const lineText = upTo(512)
/** Name or email of a user: 254 characters at most. */
export const personText = upTo(768)
/** The reason of an object's state; the program writes 600 characters at most. */
export const reasonText = upTo(1024)
/** Sentences of findings and messages. */
export const sentenceText = upTo(2048)
/** URLs and paths: 500 characters at most. */
export const urlText = upTo(1536)

/** Check of a record: it has at most so many keys. */
export const mostKeys = (mostItems: number, error: string) =>
  z.refine<Readonly<Record<string, unknown>>>(
    Object.assign(
      (all: Readonly<Record<string, unknown>>) => Object.keys(all).length <= mostItems,
      {
        mostItems,
      },
    ),
    { error },
  )

/** An array of which the program or the rules of its input let only so many exist. */
export const atMost = <T extends z.core.$ZodType>(item: T, most: number) =>
  z
    .array(item)
    .check(
      z.overwrite(
        holding(most, (all: z.output<T>[]) => (all.length > most ? all.slice(0, most) : all)),
      ),
    )
