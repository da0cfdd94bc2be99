/** Every change that cuts a worker off, on every way: simulated machines of a clusterWorld. */
import { tryCuts } from './testing/ways.ts'

await tryCuts('worker')
