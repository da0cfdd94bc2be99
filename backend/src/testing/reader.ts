import { reader } from '../reading/reader.ts'

/**
 * All backends and clients of a test process share its threads. One of its own would be started for
 * each, and would stay until it was idle for ten minutes.
 */
export const sharedReader = reader()
