/** `npm run steelyard -- …`: the CLI from its sources, beside the program whose own commands it starts. */
import { fileURLToPath } from 'node:url'
import { start } from './start.ts'

await start(fileURLToPath(new URL('../../backend/src/main.ts', import.meta.url)))
