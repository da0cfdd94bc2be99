import { CallError } from '../../../api/http.ts'

/** Several steps of a running operation may change the cluster within a second. */
const mostAttempts = 5

/** Whether a request was refused because the object has another version by now. */
export const isStale = (error: unknown): boolean =>
  error instanceof CallError && error.status === 412

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
