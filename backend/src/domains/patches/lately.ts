/** Remembers what was read of the bodies of patches, so that it isn't read for each server. */
import { createHash } from 'node:crypto'

/** Bodies that are remembered: more than a cluster that is made has servers. */
const most = 1_000

/** Reads a body once; a failure isn't remembered. */
export function lately<T>(read: (body: string) => Promise<T>): (body: string) => Promise<T> {
  /** By digest. */
  const known = new Map<string, Promise<T>>()
  return (body) => {
    const key = createHash('sha256').update(body).digest('base64')
    const before = known.get(key)
    if (before) return before
    const [oldest] = known.keys()
    if (known.size >= most) known.delete(oldest!)
    const made = read(body)
    known.set(key, made)
    made.catch(() => known.delete(key))
    return made
  }
}
