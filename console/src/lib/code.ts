import { pause } from './pause.ts'

/** Longer than a restart of Steelyard takes; what is not there then was renamed by a newer version, and the page has to be loaded anew. */
const tries = 15
const betweenMs = 2_000

/**
 * An importer that asks again while nothing answers, so that a press on a button during a restart of Steelyard is only late: React's `lazy` keeps the first
 * failure for as long as the page lives, and shows it in place of the page.
 * @throws what the last try threw
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
