/** Arguments and volumes of Kubernetes's components. */
import { textOf } from '../config/report.ts'
import { isQualifiedName } from '../config/formats.ts'
import { lastOf } from './limits/values.ts'
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'

const kubeletArguments = ['machine', 'kubelet', 'extraArgs'] as const
const components = [
  { name: 'the kubelet', section: ['machine', 'kubelet'] },
  { name: 'the API server', section: ['cluster', 'apiServer'] },
  { name: 'the controller manager', section: ['cluster', 'controllerManager'] },
  { name: 'the scheduler', section: ['cluster', 'scheduler'] },
] as const

/** The parts of an argument that is a text with commas, or a list of such texts. */
function partsOf({ main }: Configuration, path: readonly string[]): string[] {
  const texts = main.texts(...path).map(({ text }) => text)
  return (texts.length > 0 ? texts : [textOf(main.nearest(path))])
    .flatMap((text) => text.split(','))
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']
const isLabelValue = (text: string): boolean =>
  text === '' || (text.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(text))

/** What is wrong with `key=value:effect`, or null (Kubernetes `pkg/util/taints/taints.go`). */
function taintProblem(taint: string): string | null {
  const colon = taint.lastIndexOf(':')
  if (colon === -1) return `has no effect: write ${taint}:NoSchedule`
  if (!effects.includes(taint.slice(colon + 1)))
    return `has none of the effects ${effects.join(', ')}`
  const [key = '', value = '', more] = taint.slice(0, colon).split('=')
  return more === undefined && isQualifiedName(key) && isLabelValue(value)
    ? null
    : 'is not key=value:effect'
}

export const componentRules: readonly RuntimeRule[] = [
  {
    id: 'kubelet-taint',
    source: 'Kubernetes pkg/util/taints/taints.go, parseTaint, by the flag --register-with-taints',
    level: 'refuse',
    *find(config) {
      const path = [...kubeletArguments, 'register-with-taints']
      if (!config.main.has(...path)) return
      for (const taint of partsOf(config, path)) {
        const problem = taintProblem(taint)
        if (problem !== null)
          yield {
            document: config.main,
            path,
            sentence: `The taint ${quoted(taint)} ${problem}. With it the kubelet does not start`,
          }
      }
    },
  },
  {
    id: 'kubelet-label-form',
    source:
      'Kubernetes pkg/apis/core/validation: metadata.labels of the Node that the kubelet registers',
    level: 'refuse',
    *find(config) {
      const path = [...kubeletArguments, 'node-labels']
      if (!config.main.has(...path)) return
      for (const label of partsOf(config, path)) {
        const [key = '', value] = label.split('=', 2)
        if (value === undefined || !isQualifiedName(key) || !isLabelValue(value))
          yield {
            document: config.main,
            path,
            sentence: `${quoted(label)} is not a label such as team=a, so the node never joins`,
          }
      }
    },
  },
  {
    id: 'feature-gates',
    source: 'Kubernetes staging/src/k8s.io/component-base/featuregate/feature_gate.go, Set',
    level: 'refuse',
    *find(config) {
      for (const { name, section } of components) {
        const path = [...section, 'extraArgs', 'feature-gates']
        if (!config.main.has(...path)) continue
        for (const gate of partsOf(config, path))
          if (!/^[A-Za-z]\w*\s*=\s*(1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$/.test(gate))
            yield {
              document: config.main,
              path,
              sentence: `The feature gate ${quoted(gate)} needs =true or =false, or ${name} does not start`,
            }
      }
    },
  },
  {
    id: 'oidc-issuer',
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go, validateURL: "URL scheme must be https"',
    level: 'refuse',
    *find({ main }) {
      const path = ['cluster', 'apiServer', 'extraArgs', 'oidc-issuer-url']
      const url = lastOf(main, path)
      if (main.has(...path) && !(url.startsWith('https://') && URL.canParse(url)))
        yield {
          document: main,
          path,
          sentence: `The issuer ${quoted(url)} must be a URL of https, or the API server does not start`,
        }
    },
  },
  {
    id: 'volume-mounted-twice',
    source:
      'Kubernetes pkg/apis/core/validation/validation.go, ValidateVolumeMounts: mountPath "must be unique"; the kubelet refuses the static pod',
    level: 'refuse',
    *find({ main }) {
      for (const { name, section } of components.slice(1)) {
        const seen = new Set<string>()
        for (const { path } of main.items(...section, 'extraVolumes')) {
          const mount = main.text(...path, 'mountPath')
          if (seen.has(mount))
            yield {
              document: main,
              path: [...path, 'mountPath'],
              sentence: `${mount} is mounted twice, also by lists of several patches, so ${name} does not start`,
            }
          seen.add(mount)
        }
      }
    },
  },
]
