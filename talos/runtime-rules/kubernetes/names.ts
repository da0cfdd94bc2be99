/** Feature gates and versions of APIs that the cluster's minor of Kubernetes doesn't know. */
import { nearestOf } from '../../config/nearest.ts'
import { textOf } from '../../config/report.ts'
import { gatesIn, isGateOfThePast } from '../../kubernetes-removals.ts'
import { knownIn, lastWith, oldestTable } from '../../kubernetes/tables.ts'
import { clusterMinor, minorOf, partsOf } from '../component-names.ts'
import { type Configuration, type Hit, quoted, type RuntimeRule } from '../rule.ts'

const components = [
  { section: ['machine', 'kubelet'], name: 'the kubelet' },
  { section: ['cluster', 'apiServer'], name: 'the API server' },
  { section: ['cluster', 'controllerManager'], name: 'the controller manager' },
  { section: ['cluster', 'scheduler'], name: 'the scheduler' },
] as const

/** 36 for 1.36.3: of the component's image, of the cluster, or of the kubelet; null if unknown. */
const minorOfComponent = (config: Configuration, section: readonly string[]): number | null =>
  minorOf(config, [...section, 'image']) ??
  clusterMinor(config.kubernetesVersion) ??
  minorOf(config, ['machine', 'kubelet', 'image'])

/** The value of a gate (Go `strconv.ParseBool`). */
const isOn = (text: string): boolean => /^(?:1|t|true)$/i.test(text)

/** The gates that a component gets, with their values. */
function gatesOf(config: Configuration, section: readonly string[]) {
  const path = [...section, 'extraArgs', 'feature-gates']
  const inArguments = partsOf(config, path).map((pair) => {
    const [gate = '', value = ''] = pair.split('=', 2)
    // `kube:Gate` names the component that has the gate (component-base, compatibility/registry.go).
    return { path, gate: gate.trim().replace(/^kube:/, ''), value: value.trim() }
  })
  const inFields = config.main
    .entries('machine', 'kubelet', 'extraConfig', 'featureGates')
    .map((entry) => ({ path: entry.path, gate: entry.key, value: textOf(entry.node) }))
  return section[0] === 'machine' ? [...inArguments, ...inFields] : inArguments
}

/** `does not know the feature gate X: did you mean Y?`, and how it continues. */
function unknownGate(gate: string, minor: number, known: Iterable<string>): string {
  const last = isGateOfThePast(gate) ? 0 : lastWith(gate)
  if (last !== undefined)
    return last < minor
      ? `has no feature gate ${gate} any more`
      : `has no feature gate ${gate} yet, which newer minors have`
  const near = nearestOf(gate, known)
  return `does not know the feature gate ${quoted(gate)}${near === null ? '' : ` (did you mean ${near}?)`}`
}

/** Versions of APIs in `runtime-config` that a minor hasn't. */
function* unknownApis(config: Configuration): Generator<Hit & { readonly minor: number }> {
  const section = ['cluster', 'apiServer']
  const minor = minorOfComponent(config, section)
  const apis = minor === null ? undefined : knownIn(Math.max(minor, oldestTable))?.apis
  if (minor === null || apis === undefined) return
  const groups = new Set([...apis].map((api) => api.split('/', 1)[0]!))
  const path = [...section, 'extraArgs', 'runtime-config']
  for (const part of partsOf(config, path)) {
    const key = part.split('=', 1)[0]!.trim()
    const [group, version, ...rest] = key.split('/')
    const api = `${group}/${version}`
    if (version === undefined || rest.length > 1 || apis.has(api)) continue
    if (/^api\/(?:all|ga|beta|alpha)$/.test(key)) continue
    const near = nearestOf(api, apis)
    const last = lastWith(api)
    const what = !groups.has(group!)
      ? `has no group of APIs ${quoted(group!)}`
      : last === undefined || last > minor
        ? `has no version ${api}`
        : `has no version ${api} any more`
    yield {
      document: config.main,
      path,
      minor,
      sentence: `The API server of Kubernetes 1.${minor} ${what}, and does not start with it in runtime-config${near === null ? '' : `. Did you mean ${near}?`}`,
    }
  }
}

const sourceOfApis =
  'Kubernetes staging/src/k8s.io/apiserver/pkg/server/options/api_enablement.go, Validate: "unknown api groups"; pkg/server/resourceconfig/helpers.go, applyVersionAndResourcePreferences: "that has not been registered"'

export const kubernetesNameRules: readonly RuntimeRule[] = [
  {
    id: 'feature-gate',
    source:
      'Kubernetes staging/src/k8s.io/component-base/featuregate/feature_gate.go, SetFromMap: "unrecognized feature gate" ends the program; gates of each minor by conformance/kubernetes-tables. A patch release may bring a gate',
    level: 'warn',
    *find(config) {
      for (const { section, name } of components) {
        const minor = minorOfComponent(config, section)
        const known = minor === null ? null : gatesIn(minor)
        if (minor === null || known === null) continue
        for (const { path, gate } of gatesOf(config, section))
          if (gate !== '' && !known.has(gate))
            yield {
              document: config.main,
              path,
              sentence: `Kubernetes 1.${minor} ${unknownGate(gate, minor, known)}, and ${name} does not start with an unknown one`,
            }
      }
    },
  },
  {
    id: 'feature-gate-locked',
    source:
      'Kubernetes staging/src/k8s.io/component-base/featuregate/feature_gate.go, SetFromMap: "feature is locked to"; conformance/kubernetes-tables',
    level: 'refuse',
    *find(config) {
      for (const { section, name } of components) {
        const minor = minorOfComponent(config, section)
        const known = minor === null ? undefined : knownIn(minor)?.gates
        for (const { path, gate, value } of gatesOf(config, section)) {
          const only = known?.get(gate) ?? null
          if (only !== null && only !== isOn(value))
            yield {
              document: config.main,
              path,
              sentence: `In Kubernetes 1.${minor} the feature gate ${gate} can only be ${only}, and ${name} does not start with another value: leave it out`,
            }
        }
      }
    },
  },
  {
    id: 'api-version',
    source: sourceOfApis,
    level: 'refuse',
    *find(config) {
      for (const { minor, ...hit } of unknownApis(config)) if (minor >= oldestTable) yield hit
    },
  },
  {
    id: 'api-version-of-old-minor',
    source: `${sourceOfApis}. A minor without a table is judged by the oldest one`,
    level: 'warn',
    *find(config) {
      for (const { minor, ...hit } of unknownApis(config)) if (minor < oldestTable) yield hit
    },
  },
]
