/** Entry of the CLI of an installed release, which is beside the built server program. */
import { fileURLToPath } from 'node:url'
import { start } from './start.ts'

await start(fileURLToPath(new URL('../../backend/dist/main.js', import.meta.url)))
