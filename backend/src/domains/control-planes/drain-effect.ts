/** Pods as a drain sees them. */
import type { DrainEffect } from '#contract/clusters/pods.ts'
import { isRecord } from '../../kubernetes/answers.ts'

/** The annotation of a static pod's copy in the API (kubernetes.io, "Create static Pods"). */
const mirror = 'kubernetes.io/config.mirror'

/**
 * What a drain of the pod's node does with the pod, as `kubectl drain --ignore-daemonsets` decides
 * it.
 */
export function drainEffectOf(object: unknown): DrainEffect {
  const { metadata, status } = isRecord(object) ? object : {}
  const phase = isRecord(status) ? status['phase'] : undefined
  if (phase === 'Succeeded' || phase === 'Failed') return 'ended'
  if (!isRecord(metadata)) return 'lost'
  const { annotations, ownerReferences } = metadata
  if (isRecord(annotations) && mirror in annotations) return 'stays'
  const controller = (Array.isArray(ownerReferences) ? ownerReferences.filter(isRecord) : []).find(
    (o) => o['controller'] === true,
  )
  if (controller === undefined) return 'lost'
  return controller['kind'] === 'DaemonSet' || controller['kind'] === 'Node' ? 'stays' : 'moved'
}
