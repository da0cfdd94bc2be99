import * as z from 'zod/mini'
import { Resources } from '#contract/servers/servers.ts'

const empty = (): Resources => z.parse(Resources, {})

/**
 * Parses a server's hardware, an object or its JSON text. Input that breaks the schema becomes empty lists, with a warning
 * on the console, so that one odd machine doesn't break the page. Text that is no JSON is null.
 */
export function readResources(given: unknown): Resources | null {
  let value = given
  if (typeof given === 'string') {
    try {
      value = JSON.parse(given)
    } catch {
      return null
    }
  }
  const read = z.safeParse(Resources, value)
  if (read.success) return read.data
  // oxlint-disable-next-line no-console -- the specification asks for this warning
  console.warn('Resources of a server could not be read; shown as empty.', z.prettifyError(read.error))
  return empty()
}

/** Like `readResources`, with empty lists instead of null. */
export const resourcesOf = (given: unknown): Resources => readResources(given) ?? empty()
