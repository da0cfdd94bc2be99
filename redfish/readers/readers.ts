/**
 * What is read of each kind of document. `readDocument` runs where the caller wants it: Steelyard
 * runs it on its reading thread, because a BMC may send anything.
 */
import { Buffer } from 'node:buffer'
import * as z from 'zod/mini'
import { chassis, power, powerSubsystem, sensor, thermal, thermalSubsystem } from './chassis.ts'
import { firmware, logEntries, logService } from './records.ts'
import { drive, memory, networkPort, processor, storage } from './hardware.ts'
import { field, link, links, number, part, parts, text } from './lenient.ts'
import { actionInfo, manager, system } from './system.ts'

/** The service root (DSP0268 `ServiceRoot`), which is read without a sign-in. */
const root = z.object({
  RedfishVersion: text,
  UUID: text,
  Vendor: text,
  Product: text,
  Name: text,
  Systems: link,
  Chassis: link,
  Managers: link,
  UpdateService: link,
  SessionService: link,
  Links: part({ Sessions: link }),
  /** Some BMCs name their maker only here. */
  Oem: field((oem): string[] =>
    typeof oem === 'object' && oem !== null ? Object.keys(oem).slice(0, 8) : [],
  ),
})

const collection = z.object({ Members: links, 'Members@odata.nextLink': text })

/**
 * An error (DSP0266, "Error responses"). iDRAC sends an object instead of the list
 * (`sushy/notes`).
 */
const problem = z.object({
  error: part({
    message: text,
    '@Message.ExtendedInfo': z.pipe(
      field((value): unknown => (Array.isArray(value) ? value : [value])),
      parts({ Message: text, MessageId: text, Resolution: text }),
    ),
  }),
})

/** A task that a 202 named (DSP0268 `Task`). */
const task = z.object({
  TaskState: text,
  TaskStatus: text,
  PercentComplete: number,
  Messages: parts({ Message: text, MessageId: text }),
})

const readers = {
  root,
  collection,
  problem,
  task,
  system,
  actionInfo,
  manager,
  processor,
  memory,
  storage,
  drive,
  networkPort,
  chassis,
  power,
  thermal,
  powerSubsystem,
  thermalSubsystem,
  sensor,
  firmware,
  logService,
  logEntries,
} as const

export type DocumentKind = keyof typeof readers
export type Read<K extends DocumentKind> = z.output<(typeof readers)[K]>

/** A read document, or why there is none: part of a sentence. */
export type Outcome<K extends DocumentKind> =
  | { readonly read: Read<K> }
  | { readonly unreadable: string }

/** The most values and levels of a document. DMTF's largest example has some 3,000 values. */
const mostValues = 100_000
const mostDepth = 32

/** Counts values and levels in the text, before anything is built of it. */
function isModest(bytes: Uint8Array): boolean {
  let values = 0
  let depth = 0
  let inText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (inText) {
      if (byte === 0x5c) at++
      else if (byte === 0x22) inText = false
      continue
    }
    if (byte === 0x22) inText = true
    else if (byte === 0x2c || byte === 0x3a) values++
    else if (byte === 0x7b || byte === 0x5b) depth++
    else if (byte === 0x7d || byte === 0x5d) depth--
    if (values > mostValues || depth > mostDepth) return false
  }
  return true
}

/**
 * Reads a document.
 * @param kind what it must be; a wrong field is unknown, not an error
 */
export function readDocument<K extends DocumentKind>(kind: K, bytes: Uint8Array): Outcome<K> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
  if (/^\s*</.test(text)) return { unreadable: 'a page (HTML), not a Redfish document' }
  if (!isModest(bytes)) return { unreadable: 'a document with too many values' }
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    return { unreadable: 'no JSON' }
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return { unreadable: 'no Redfish document' }
  const result = z.safeParse(readers[kind], document)
  return result.success
    ? { read: result.data as Read<K> }
    : { unreadable: 'a document that can not be read' }
}
