/** The CLI alone, as it is bundled and handed out: it knows Steelyard by its API only. */
import { start } from './start.ts'

await start(null)
