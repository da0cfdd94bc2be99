/** Options of the kubelet's policies for processors and NUMA nodes, checked when it starts. */
import { nearestOf } from '../../config/nearest.ts'
import { type Report, textOf } from '../../config/report.ts'
import { quoted, type RuntimeRule } from '../rule.ts'
import { settingOf, settingText } from './values.ts'

const isDown = 'the kubelet does not start'

/** Options that are true or false (`cm/cpumanager/policy_options.go`; the last two are alpha). */
const cpuOptions = [
  'full-pcpus-only',
  'distribute-cpus-across-numa',
  'strict-cpu-reservation',
  'prefer-align-cpus-by-uncorecache',
  'align-by-socket',
  'distribute-cpus-across-cores',
]
const alphaOptions = new Set(['align-by-socket', 'distribute-cpus-across-cores'])
const alphaGate = 'CPUManagerPolicyAlphaOptions'
/** Options that exclude each other (`NewStaticPolicyOptions`). */
const excluding = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
] as const

const most = 'max-allowable-numa-nodes'
/** `cm/topologymanager/policy_options.go`; the last two came after 1.36. */
const topologyOptions = [
  'prefer-closest-numa-nodes',
  most,
  'numa-allocation-strategy',
  'numa-score-weights',
]
/** Options that aren't true or false. */
const otherOptions = new Set(topologyOptions.slice(1))

interface Option {
  readonly path: readonly string[]
  readonly key: string
  readonly text: string
}

/** The options of a policy that count. Each argument has one, also if it has commas. */
function optionsOf(main: Report, field: string): Option[] {
  const path = settingOf(main, field)
  if (path === undefined) return []
  if (!path.includes('extraArgs'))
    return main
      .entries(...path)
      .map((entry) => ({ path: entry.path, key: entry.key, text: textOf(entry.node) }))
  const texts = main.texts(...path)
  return (texts.length > 0 ? texts : [{ path, text: main.text(...path) }]).map((one) => {
    const [key = '', ...value] = one.text.split('=')
    return { path: one.path, key: key.trim(), text: value.join('=').trim() }
  })
}

/** Whether a text is true as Go's strconv.ParseBool reads it; undefined if it is neither. */
const asFlag = (text: string): boolean | undefined =>
  /^(?:1|t|T|true|TRUE|True)$/.test(text)
    ? true
    : /^(?:0|f|F|false|FALSE|False)$/.test(text)
      ? false
      : undefined

/** What is wrong with an option, or null. */
function optionProblem({ key, text }: Option, field: string, known: string[]): string | null {
  if (!known.includes(key)) {
    const near = nearestOf(key, known)
    return `${field} knows no ${quoted(key)} (${known.join(', ')}), so ${isDown}${near === null ? '' : `. Did you mean ${near}?`}`
  }
  if (key === most && !(/^\+?\d+$/.test(text) && Number(text) >= 8))
    return `${most} is a number of at least 8, not ${quoted(text)}, so ${isDown}`
  if (otherOptions.has(key) || asFlag(text) !== undefined) return null
  return text.includes(',')
    ? `An argument has one option, and ${quoted(text)} is neither true nor false, so ${isDown}: write the options in extraConfig.${field}`
    : `The option ${key} is true or false, not ${quoted(text)}, so ${isDown}`
}

/** The policy of processors that counts. */
export const cpuPolicyOf = (main: Report): string => settingText(main, 'cpuManagerPolicy') || 'none'

/** Whether an option of processors is on. */
export const hasCpuOption = (main: Report, name: string): boolean =>
  optionsOf(main, 'cpuManagerPolicyOptions').some(
    ({ key, text }) => key === name && asFlag(text) === true,
  )

export const kubeletPolicyRules: readonly RuntimeRule[] = [
  {
    id: 'kubelet-policy-option',
    source:
      'Kubernetes pkg/kubelet/cm/cpumanager/policy_none.go ("None policy: received unsupported options") and policy_options.go ("unknown CPU Manager Policy option", NewStaticPolicyOptions, ValidateStaticPolicyOptions); topologymanager/policy_options.go, which the policy none does not read; component-base cli/flag/map_string_string.go, NoSplit',
    level: 'refuse',
    *find({ main }) {
      const cpu = optionsOf(main, 'cpuManagerPolicyOptions')
      const topology = settingText(main, 'topologyManagerPolicy') || 'none'
      if (cpuPolicyOf(main) === 'none') {
        if (cpu.length > 0)
          yield {
            document: main,
            path: settingOf(main, 'cpuManagerPolicyOptions')!,
            sentence: `The policy none of processors has no options, so ${isDown}: set cpuManagerPolicy: static, or leave cpuManagerPolicyOptions out`,
          }
      } else {
        for (const option of cpu) {
          const problem = optionProblem(option, 'cpuManagerPolicyOptions', cpuOptions)
          if (problem !== null) yield { document: main, path: option.path, sentence: problem }
        }
        const placeOf = (name: string) => cpu.find(({ key }) => key === name)!.path
        for (const [one, other] of excluding)
          if (hasCpuOption(main, one) && hasCpuOption(main, other))
            yield {
              document: main,
              path: placeOf(other),
              sentence: `The options ${one} and ${other} exclude each other, so ${isDown}: keep one of them`,
            }
        if (hasCpuOption(main, 'align-by-socket') && topology === 'single-numa-node')
          yield {
            document: main,
            path: placeOf('align-by-socket'),
            sentence: `The option align-by-socket excludes topologyManagerPolicy: single-numa-node, so ${isDown}: keep one of them`,
          }
      }
      for (const option of topology === 'none'
        ? []
        : optionsOf(main, 'topologyManagerPolicyOptions')) {
        const problem = optionProblem(option, 'topologyManagerPolicyOptions', topologyOptions)
        if (problem !== null) yield { document: main, path: option.path, sentence: problem }
      }
    },
  },
  {
    id: 'kubelet-alpha-option',
    source:
      'Kubernetes pkg/kubelet/cm/cpumanager/policy_options.go (1.31 to 1.36): "CPU Manager Policy Alpha-level Options not enabled, but option … provided"',
    level: 'warn',
    *find({ main }) {
      const gates = [
        main.text('machine', 'kubelet', 'extraArgs', 'feature-gates'),
        ...main.texts('machine', 'kubelet', 'extraArgs', 'feature-gates').map(({ text }) => text),
        ...main
          .entries('machine', 'kubelet', 'extraConfig', 'featureGates')
          .map(({ key, node }) => `${key}=${textOf(node)}`),
      ].join()
      if (cpuPolicyOf(main) === 'none' || gates.includes(`${alphaGate}=true`)) return
      if (gates.includes('AllAlpha=true')) return
      for (const { path, key } of optionsOf(main, 'cpuManagerPolicyOptions'))
        if (alphaOptions.has(key))
          yield {
            document: main,
            path,
            sentence: `The option ${key} is alpha, and without featureGates: {${alphaGate}: true} the kubelet may not start`,
          }
    },
  },
]
