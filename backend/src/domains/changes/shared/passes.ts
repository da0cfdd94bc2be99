/**
 * The keys of the steps of an upgrade with several passes. Steps of the last pass have the usual
 * keys; those of a pass before it end with its version: `upgrade/<node id>/v1.13.9`, `image/v1.13.9`.
 */
import { keyOf } from '../frame.ts'

export const passKey = (prefix: string, nodeId: string, pass?: string): string =>
  pass === undefined ? keyOf(prefix, nodeId) : `${keyOf(prefix, nodeId)}/${pass}`

export const imageKey = (pass?: string): string => (pass === undefined ? 'image' : `image/${pass}`)

/** The version of the pass that a step belongs to; undefined for the last pass. */
export function passIn(key: string): string | undefined {
  const last = key.slice(key.lastIndexOf('/') + 1)
  return /^v\d/.test(last) ? last : undefined
}
