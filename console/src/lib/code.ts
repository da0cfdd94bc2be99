import { pause } from './pause.ts'

/** Together longer than a restart of Steelyard. A file that is missing after that was renamed by a newer version, and the page must be reloaded. */
const tries = 15
const betweenMs = 2_000

/**
 * Wraps a dynamic import with retries, so that a click during a restart of Steelyard is only slow. React's `lazy` keeps the first
 * failure for as long as the page lives and shows it in place of the page.
 * @throws the error of the last attempt
 */
export const patiently =
  <Module>(importer: () => Promise<Module>) =>
  async (): Promise<Module> => {
    for (let left = tries - 1; left > 0; left--) {
      try {
        return await importer()
      } catch {
        await pause(betweenMs)
      }
    }
    return importer()
  }
