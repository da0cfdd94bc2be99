import { pause } from '../pause.ts'

/** Enough tries to outlast a restart of Steelyard. */
export const codeTries = 15
/** Time between two tries, in ms. */
export const codeRetryMs = 2_000

/**
 * Wraps a dynamic import with retries, so that a message that arrives during a restart of Steelyard
 * is only late.
 * @throws the error of the last attempt
 */
export const patiently =
  <Module>(importer: () => Promise<Module>) =>
  async (): Promise<Module> => {
    for (let left = codeTries - 1; left > 0; left--) {
      try {
        return await importer()
      } catch {
        await pause(codeRetryMs)
      }
    }
    return importer()
  }
