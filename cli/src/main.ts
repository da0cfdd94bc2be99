/**
 * Entry of `npm run steelyard -- …`: the CLI from its sources, with the commands of the server
 * program.
 */
import { fileURLToPath } from 'node:url'
import { start } from './start.ts'

await start(fileURLToPath(new URL('../../backend/src/main.ts', import.meta.url)))
