import * as z from 'zod/mini'
import { Resources } from '#contract/servers/servers.ts'

const empty = (): Resources => z.parse(Resources, {})

/**
 * A server's hardware as the API sends it: an object, or JSON text of one. What breaks its schema becomes empty lists, with a warning
 * on the console, so that one odd machine never takes a page down; text that is not JSON at all is null.
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

/** The same, for where something has to be drawn in any case. */
export const resourcesOf = (given: unknown): Resources => readResources(given) ?? empty()
