import { CallError } from '../../../api/http.ts'

/** Of an operation that is under way, several steps may change the cluster within a second. */
const mostAttempts = 5

export const isStale = (error: unknown): boolean => error instanceof CallError && error.status === 412

/**
 * Sends a request with the version that was read just before it. If the object changed in between, both are repeated: the change may concern something that the
 * user hasn't reviewed. `versionOf` returns null if the request would now have another effect; then nothing is sent, and the result is null.
 * @throws CallError
 */
export async function sendFresh<T>(versionOf: () => Promise<number | null>, send: (version: number) => Promise<T>): Promise<T | null> {
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
