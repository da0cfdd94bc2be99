/** Every change that cuts a control plane off, on every way: simulated machines of a clusterWorld. */
import { tryCuts } from './testing/ways.ts'

await tryCuts('control_plane')
