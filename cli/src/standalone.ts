/** Entry of the bundled CLI, which has no commands of the server program. */
import { start } from './start.ts'

await start(null)
