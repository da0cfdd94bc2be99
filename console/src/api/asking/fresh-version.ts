import { CallError } from '../http.ts'

/** Whether a request was refused because the object has another version by now. */
export const isStale = (error: unknown): boolean =>
  error instanceof CallError && error.status === 412

/** Several steps of a running operation may change the cluster within a second. */
const mostAttempts = 5

/**
 * Reads the object's version and sends a request with it. Repeats both, up to five attempts, if the
 * object changes in between.
 * @param versionOf returns null if the request would now have another effect than the user has
 * reviewed. Then nothing is sent, and the result is null.
 * @throws CallError the last refusal
 */
export async function sendFresh<T>(
  versionOf: () => Promise<number | null>,
  send: (version: number) => Promise<T>,
): Promise<T | null> {
  for (let attempt = 1; ; attempt++) {
    const version = await versionOf()
    if (version === null) return null
    try {
      return await send(version)
    } catch (error) {
      if (!isStale(error) || attempt === mostAttempts) throw error
    }
  }
}

/**
 * Sends a change of one part of an object. Steelyard itself increments the object's version too,
 * such as when the status of a cluster changes. If the part is still what the user has seen, the
 * request is therefore sent again with the newer version, up to five times.
 * @param part returns the values that the user has seen and changes, as JSON
 * @throws CallError the refusal if somebody has changed the part, or any other refusal
 */
export async function sendUnlessEdited<T extends { version: number }, A>(
  seen: T,
  read: () => Promise<T>,
  part: (object: T) => unknown,
  send: (version: number) => Promise<A>,
): Promise<A> {
  const before = JSON.stringify(part(seen))
  let now = seen
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(now.version)
    } catch (error) {
      if (!isStale(error) || attempt === mostAttempts) throw error
      now = await read()
      if (JSON.stringify(part(now)) !== before) throw error
    }
  }
}
