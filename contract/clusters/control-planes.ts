/** Rules about the number of control planes of a cluster. */
import { no, type Verdict, yes } from '../rule.ts'

const mostControlPlanes = 7

/**
 * The number of control planes must be odd, so that etcd keeps its majority when one server fails.
 */
export function canHaveControlPlanes(count: number): Verdict {
  if (count === 0) return no('Choose at least one control plane')
  if (count > mostControlPlanes)
    return no(`A cluster has at most ${mostControlPlanes} control planes`)
  return count % 2 === 0
    ? no(
        `Choose an odd number of control planes: with ${count}, the cluster tolerates no more failures than with ${count - 1}`,
      )
    : yes
}

/** Warning about a number of control planes that is allowed but unwise. */
export const controlPlaneWarning = (count: number): string | null =>
  count === 1
    ? 'With one control plane, the cluster is down while that server is down. Three are recommended.'
    : null

/**
 * Like `controlPlaneWarning`, for the number of control planes that remain after one has left the
 * cluster.
 */
export const afterLeaving = (controlPlanes: number): string | null =>
  controlPlanes % 2 === 1
    ? controlPlaneWarning(controlPlanes)
    : `${controlPlanes} control planes remain, an even number: the cluster then tolerates no more failures than with ${controlPlanes - 1}`
