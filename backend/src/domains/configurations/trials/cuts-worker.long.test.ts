/** Every change that cuts a worker off, on every way: simulated machines of a clusterWorld. */
import { onEachMinor } from '../../clusters/testing/minors.ts'
import { tryCuts } from './testing/ways.ts'

onEachMinor((minor) => tryCuts('worker', minor))
