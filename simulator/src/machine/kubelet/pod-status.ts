import { notFoundMessage } from '../../config/images.ts'
import type { StaticPod } from '../machine.ts'

/**
 * The kubelet's message about a container that ends again and again (Kubernetes:
 * pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff).
 */
export const crashMessage = ({ name }: StaticPod): string =>
  `back-off 10s restarting failed container=${name}`

/** The last lines of a container that ends after each start. */
export const crashLog = ({ name }: StaticPod): string[] => [
  `"Starting" component="${name}"`,
  `"command failed" err="${name} is simulated to end after its start"`,
]

/** Why a static pod's container does not run, as its `state.waiting`. */
export const waitingOf = (pod: StaticPod): { reason: string; message?: string } => {
  if (pod.isPullFailing)
    return {
      reason: 'ImagePullBackOff',
      message: `Back-off pulling image "${pod.image}": ErrImagePull: ${notFoundMessage(pod.image)}`,
    }
  return pod.isCrashing
    ? { reason: 'CrashLoopBackOff', message: crashMessage(pod) }
    : { reason: 'ContainerCreating' }
}
