import { loadDocuments } from './decode.ts'
import { emit } from './emit.ts'
import { encodeDocument } from './encode.ts'
import type { MapNode } from './tree.ts'

/**
 * Would Talos have to reboot to go from one configuration to the other? All documents beside the main one, all of `cluster` and the named
 * parts of `machine` are taken at once, everything else is a reboot (Talos `internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_runtime.go`,
 * `CanApplyImmediate`). Both texts are whole configurations; throws ConfigError where one can't be read.
 */
export function rebootVerdict(before: string, after: string): 'no_reboot' | 'reboot' {
  return decisive(before) === decisive(after) ? 'no_reboot' : 'reboot'
}

const immediate: Record<string, ReadonlySet<string> | undefined> = {
  machine: new Set([
    'ca',
    'acceptedCAs',
    'time',
    'certSANs',
    'install',
    'network',
    'sysfs',
    'sysctls',
    'logging',
    'controlPlane',
    'kubelet',
    'kernel',
    'registries',
    'pods',
    'seccompProfiles',
    'nodeAnnotations',
    'nodeLabels',
    'nodeTaints',
  ]),
  features: new Set(['kubernetesTalosAPIAccess', 'kubePrism', 'hostDNS', 'imageCache', 'nodeAddressSortAlgorithm']),
}

/** The main document without what needs no reboot. */
function decisive(yaml: string): string {
  const main = loadDocuments(yaml, 'config').find(({ shape }) => shape.kind === '')
  if (main === undefined) return ''
  const root = without(encodeDocument(main), new Set(['debug', 'cluster']))
  const machine = root.entries.get('machine')
  if (machine?.value.is !== 'map') return emit([root]).yaml
  const stripped = without(machine.value, immediate['machine']!)
  const features = stripped.entries.get('features')
  if (features?.value.is === 'map') {
    const left = without(features.value, immediate['features']!)
    if (left.entries.size === 0) stripped.entries.delete('features')
    else stripped.entries.set('features', { ...features, value: left })
  }
  root.entries.set('machine', { ...machine, value: stripped })
  return emit([root]).yaml
}

function without(map: MapNode, keys: ReadonlySet<string>): MapNode {
  return { ...map, entries: new Map([...map.entries].filter(([key]) => !keys.has(key))) }
}
