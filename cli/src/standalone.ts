/** Entry of the bundled CLI, which has only the API. */
import { start } from './start.ts'

await start(null)
