/**
 * Converts a run's error to a sentence for users, shown on operations. The log has the full error.
 */
import { type Cause, causeOf, isForPeople } from '../causes/causes.ts'
import { sqlState } from '../db/db.ts'
import { plain } from '../log.ts'
import { whyRefused } from '../refusal.ts'

const longest = 600
/** Removes long texts that may be keys, because messages of libraries may quote their input. */
const withoutSecrets = (text: string): string =>
  text
    .replaceAll(/-----BEGIN [A-Z0-9 ]+-----[^-]*(?:-----END [A-Z0-9 ]+-----)?/g, '…')
    .replaceAll(/[\w+/=-]{40,}/g, '…')

const oneLine = (text: string): string => plain(text).slice(0, longest)

const ofDatabase: Partial<Record<Cause, string>> = {
  database_busy: 'The database is too busy; Steelyard tries again',
  database_full: 'The disk of the database is full: make room on it. Steelyard tries again',
}

export function sentenceFor(error: unknown): string {
  if (!(error instanceof Error))
    return 'An unexpected error, described in the log; Steelyard tries again'
  const known = ofDatabase[causeOf(error)]
  if (known !== undefined) return known
  const state = sqlState(error)
  if (state !== undefined)
    return `The database refused a change (SQLSTATE ${state}); Steelyard tries again`
  if ('syscall' in error && 'path' in error && typeof error.path === 'string')
    return oneLine(`${error.path}: ${whyRefused(error)}`)
  if (isForPeople(error)) return oneLine(error.message)
  return oneLine(
    `An unexpected error; Steelyard tries again: ${withoutSecrets(oneLine(error.message))}`,
  )
}
