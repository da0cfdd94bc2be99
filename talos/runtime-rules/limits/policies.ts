/** Policies and configurations of the API server and the scheduler that are left out or refused. */
import { nearestOf } from '../../config/nearest.ts'
import type { Report } from '../../config/report.ts'
import { plugins } from '../component-names.ts'
import { isSubdomain } from '../kubernetes/values.ts'
import { type Hit, quoted, type RuntimeRule } from '../rule.ts'

const words = (text: string): readonly string[] => text.trim().split(/\s+/)
const apiServer = ['cluster', 'apiServer'] as const
const policy = [...apiServer, 'auditPolicy'] as const
const scheduler = ['cluster', 'scheduler', 'config'] as const

/** Plugins that are off unless they are enabled (Kubernetes `pkg/kubeapiserver/options/plugins.go`). */
const offByDefault = words(
  `AlwaysAdmit AlwaysDeny AlwaysPullImages DenyServiceExternalIPs EventRateLimit
  ExtendedResourceToleration ImagePolicyWebhook LimitPodHardAntiAffinityTopology
  NamespaceAutoProvision NamespaceExists OwnerReferencesPermissionEnforcement PodNodeSelector
  PodTolerationRestriction`,
)

/** Plugins that an argument enables, which is a text with commas or a list of such texts. */
const enabledPlugins = (main: Report): string[] => {
  const path = [...apiServer, 'extraArgs', 'enable-admission-plugins']
  return [...main.texts(...path).map(({ text }) => text), main.text(...path)]
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
}

const stages = words('RequestReceived ResponseStarted ResponseComplete Panic')

const notStarted = 'the API server does not start'

/** What is wrong with a URL of a rule that is no resource, or null. */
const urlProblem = (url: string): string | null => {
  if (url === '*') return null
  if (!url.startsWith('/')) return 'must begin with /'
  const star = url.indexOf('*')
  return star === -1 || star === url.length - 1 ? null : 'can have * at its end only'
}

function* ruleProblems(main: Report, path: readonly string[]): Generator<Hit> {
  const hit = (where: readonly string[], sentence: string): Hit => ({
    document: main,
    path: where,
    sentence: `${sentence}, or ${notStarted}`,
  })
  if (main.has(...path, 'nonResourceURLs')) {
    if (main.has(...path, 'resources') || main.has(...path, 'namespaces'))
      yield hit(
        [...path, 'nonResourceURLs'],
        'A rule of the audit policy has either nonResourceURLs, or resources and namespaces',
      )
    for (const { path: where, text } of main.texts(...path, 'nonResourceURLs')) {
      const problem = urlProblem(text)
      if (problem !== null) yield hit(where, `${quoted(text)} in nonResourceURLs ${problem}`)
    }
  }
  for (const { path: group } of main.items(...path, 'resources')) {
    const name = main.text(...group, 'group')
    if (name !== '' && name !== '*' && !isSubdomain(name))
      yield hit(
        [...group, 'group'],
        `${quoted(name)} in a rule of the audit policy is no API group`,
      )
    if (main.has(...group, 'resourceNames') && !main.has(...group, 'resources'))
      yield hit([...group, 'resourceNames'], 'resourceNames of the audit policy need resources')
  }
}

function* profileProblems(main: Report): Generator<Hit> {
  const profiles = main.items(...scheduler, 'profiles')
  const seen = new Set<string>()
  for (const { path } of profiles) {
    const name = main.text(...path, 'schedulerName')
    const problem =
      name === '' && profiles.length > 1
        ? 'Each of several profiles of the scheduler needs its schedulerName'
        : seen.has(name)
          ? `The profile ${name} of the scheduler is there twice`
          : null
    seen.add(name)
    if (problem !== null)
      yield {
        document: main,
        path: [...path, 'schedulerName'],
        sentence: `${problem}, or the scheduler does not start`,
      }
  }
}

export const policyLimitRules: readonly RuntimeRule[] = [
  {
    id: 'admission-not-enabled',
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/admission/config.go, ConfigFor: only a plugin that is enabled asks for its configuration; Talos enables NodeRestriction (siderolabs/talos#9846)',
    level: 'warn',
    *find({ main, isWorker }) {
      if (isWorker) return
      const on = enabledPlugins(main)
      for (const { path } of main.items(...apiServer, 'admissionControl')) {
        const name = main.text(...path, 'name')
        const near = plugins.includes(name) ? null : nearestOf(name, plugins)
        const problem =
          near !== null
            ? `There is no admission plugin ${name}, so its configuration has no effect: did you mean ${near}?`
            : offByDefault.includes(name) && !on.includes(name)
              ? `The admission plugin ${name} is off, so its configuration has no effect: enable it by cluster.apiServer.extraArgs, enable-admission-plugins: ${name}`
              : null
        if (problem !== null) yield { document: main, path: [...path, 'name'], sentence: problem }
      }
    },
  },
  {
    id: 'audit-policy-value',
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/apis/audit/validation/validation.go, ValidatePolicy',
    level: 'refuse',
    *find({ main, isWorker }) {
      if (isWorker) return
      const rules = main.items(...policy, 'rules')
      for (const { path } of rules) yield* ruleProblems(main, path)
      for (const path of [policy, ...rules.map((rule) => rule.path)])
        for (const { path: where, text } of main.texts(...path, 'omitStages'))
          if (!stages.includes(text))
            yield {
              document: main,
              path: where,
              sentence: `${quoted(text)} is no stage of a request (${stages.join(', ')}), so ${notStarted}`,
            }
    },
  },
  {
    id: 'scheduler-value',
    source:
      'Kubernetes pkg/scheduler/apis/config/validation/validation.go, ValidateKubeSchedulerConfiguration',
    level: 'refuse',
    *find({ main, isWorker }) {
      if (isWorker) return
      yield* profileProblems(main)
      for (const [field, least, most] of [
        ['parallelism', 1, Infinity],
        ['percentageOfNodesToScore', 0, 100],
        ['podInitialBackoffSeconds', 1, Infinity],
      ] as const) {
        const value = main.number(...scheduler, field)
        if (value !== undefined && (value < least || value > most))
          yield {
            document: main,
            path: [...scheduler, field],
            sentence: `${field} of the scheduler is ${most === Infinity ? `at least ${least}` : `from ${least} to ${most}`}, not ${value}, or the scheduler does not start`,
          }
      }
    },
  },
]
