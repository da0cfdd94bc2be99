/** What a run threw, as a sentence that people may read: on the operation that waits for it, in the API, to viewers. The log has the whole of it. */
import { sqlState } from '../db/db.ts'
import { plain } from '../log.ts'
import { whyRefused } from '../refusal.ts'

const longest = 600
/** Classes of our own whose messages are written for people. Of any other, a library's too, nobody has said what stands in the message. */
const forPeople = new Set(['TalosError', 'KubernetesError', 'SealBroken', 'EscrowRefused', 'TooLong', 'Problem', 'FactoryError', 'ConfigError'])

/** Keys and tokens are long runs of such characters; a message of a library may quote what it was given. */
const withoutSecrets = (text: string): string =>
  text.replaceAll(/-----BEGIN [A-Z0-9 ]+-----[^-]*(?:-----END [A-Z0-9 ]+-----)?/g, '…').replaceAll(/[\w+/=-]{40,}/g, '…')

const oneLine = (text: string): string => plain(text).slice(0, longest)

export function sentenceFor(error: unknown): string {
  if (!(error instanceof Error)) return 'An unexpected error, which the log describes; it is tried again'
  const state = sqlState(error)
  if (state !== undefined) return `The database refused a change (SQLSTATE ${state}); it is tried again`
  if ('syscall' in error && 'path' in error && typeof error.path === 'string') return oneLine(`${error.path}: ${whyRefused(error)}`)
  if (forPeople.has(error.name)) return oneLine(error.message)
  return oneLine(`An unexpected error; it is tried again: ${withoutSecrets(oneLine(error.message))}`)
}
