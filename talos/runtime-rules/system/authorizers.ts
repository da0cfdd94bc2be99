/** Webhooks that the API server asks whether a request is allowed. */
import { celTextProblem } from '../../config/cel.ts'
import { durationMs, isDnsName } from '../../config/formats.ts'
import type { Report } from '../../config/report.ts'
import { quoted, type RuntimeRule } from '../rule.ts'

const isDown = 'the API server does not start'
const list = ['cluster', 'apiServer', 'authorizationConfig'] as const
const versions = ['v1', 'v1beta1']
const policies = ['NoOpinion', 'Deny']
const places = ['InClusterConfig', 'KubeConfigFile']

/** What a webhook lacks or has wrongly, as field and sentence. */
function* webhookProblems(
  main: Report,
  at: readonly string[],
): Generator<readonly [string[], string]> {
  const text = (...path: string[]): string => main.text(...at, ...path)
  const timeout = durationMs(text('timeout')) ?? 0
  if (timeout <= 0 || timeout > 30_000)
    yield [['timeout'], 'timeout must be more than 0s and at most 30s']
  for (const field of ['authorizedTTL', 'unauthorizedTTL'])
    if ((durationMs(text(field)) ?? 0) < 0) yield [[field], `${field} can’t be negative`]
  for (const [field, allowed] of [
    ['subjectAccessReviewVersion', versions],
    ['failurePolicy', policies],
  ] as const)
    if (!allowed.includes(text(field))) yield [[field], `${field} must be ${allowed.join(' or ')}`]
  const version = text('matchConditionSubjectAccessReviewVersion')
  const conditions = main.items(...at, 'matchConditions')
  if (version === '' ? conditions.length > 0 : version !== 'v1')
    yield [
      ['matchConditionSubjectAccessReviewVersion'],
      'matchConditionSubjectAccessReviewVersion must be v1 beside matchConditions',
    ]
  for (const { path } of conditions) {
    const text = main.text(...path, 'expression')
    const problem = celTextProblem(text, ['request'], true)
    if (text.trim() === '') yield [path.slice(at.length), 'a condition needs an expression']
    else if (problem !== undefined)
      yield [
        [...path.slice(at.length), 'expression'],
        `the expression ${quoted(text)} doesn’t compile: ${problem}`,
      ]
  }
  const type = text('connectionInfo', 'type')
  const file = text('connectionInfo', 'kubeConfigFile')
  if (!places.includes(type))
    yield [['connectionInfo', 'type'], `connectionInfo.type must be ${places.join(' or ')}`]
  else if (type === 'KubeConfigFile' && !file.startsWith('/'))
    yield [
      ['connectionInfo', 'kubeConfigFile'],
      'connectionInfo.kubeConfigFile must be an absolute path',
    ]
  else if (type === 'InClusterConfig' && file !== '')
    yield [
      ['connectionInfo', 'kubeConfigFile'],
      'connectionInfo.kubeConfigFile belongs to the type KubeConfigFile',
    ]
}

export const authorizerRules: readonly RuntimeRule[] = [
  {
    id: 'authorizer-webhook',
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go, ValidateAuthorizationConfiguration and ValidateWebhookConfiguration; defaults of v1/defaults.go',
    level: 'refuse',
    *find({ main: document }) {
      for (const { path } of document.items(...list)) {
        const name = document.text(...path, 'name')
        const isWebhook = document.text(...path, 'type') === 'Webhook'
        const fields = document.entries(...path, 'webhook')
        if (name !== '' && (!isDnsName(name) || name !== name.toLowerCase()))
          yield {
            document,
            path: [...path, 'name'],
            sentence: `The name ${quoted(name)} of an authorizer must be a DNS name in lower case, or ${isDown}`,
          }
        if (!isWebhook && fields.length > 0)
          yield {
            document,
            path: [...path, 'webhook'],
            sentence: `The authorizer ${name} can’t have a webhook, because its type is not Webhook: with it ${isDown}`,
          }
        if (isWebhook && fields.length === 0)
          yield {
            document,
            path,
            sentence: `The authorizer ${name} needs webhook with its timeout, failurePolicy and connectionInfo, or ${isDown}`,
          }
        if (isWebhook && fields.length > 0)
          for (const [where, problem] of webhookProblems(document, [...path, 'webhook']))
            yield {
              document,
              path: [...path, 'webhook', ...where],
              sentence: `In the webhook of the authorizer ${name}, ${problem}: without that ${isDown}`,
            }
      }
    },
  },
  {
    id: 'authorizer-file',
    source:
      'Kubernetes validation.go, ValidateWebhookConfiguration: "error loading file"; Talos mounts only extraVolumes into the API server (internal/app/machined/pkg/controllers/k8s/control_plane_static_pod.go)',
    level: 'warn',
    *find({ main: document }) {
      const mounts = document
        .items('cluster', 'apiServer', 'extraVolumes')
        .map(({ path }) => document.text(...path, 'mountPath'))
      for (const { path } of document.items(...list)) {
        const where = [...path, 'webhook', 'connectionInfo', 'kubeConfigFile']
        const file = document.text(...where)
        if (file.startsWith('/') && !mounts.some((mount) => mount !== '' && file.startsWith(mount)))
          yield {
            document,
            path: where,
            sentence: `No extraVolumes of the API server has ${file} in it, and without the file ${isDown}`,
          }
      }
    },
  },
]
