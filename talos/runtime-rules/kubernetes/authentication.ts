/** Who may reach the Kubernetes API, in the document of Talos 1.14. */
import { celTextProblem } from '../../config/cel.ts'
import type { Report } from '../../config/report.ts'
import { type Hit, quoted, type RuntimeRule } from '../rule.ts'

/** A place below `configuration`, and what is wrong there. */
type Problem = readonly [path: readonly string[], sentence: string]

const root = ['configuration']
const mostAuthenticators = 64

/** Why an address is none of an issuer, or null (`validateURL`). */
function urlProblem(text: string): string | null {
  if (!URL.canParse(text)) return `${quoted(text)} is no address`
  const url = new URL(text)
  if (url.protocol !== 'https:') return `${quoted(text)} must begin with https://`
  if (url.username !== '' || url.password !== '' || /^https:\/\/[^/?#]*@/i.test(text))
    return 'the address can’t have a user or a password'
  if (/^[^#]*\?./.test(text)) return `${quoted(text)} can’t have a query`
  return /#./.test(text) ? `${quoted(text)} can’t have a fragment` : null
}

/** An address without the slashes at its end. */
function withoutSlashes(text: string): string {
  let end = text.length
  while (text[end - 1] === '/') end -= 1
  return text.slice(0, end)
}

/** `validateIssuer` */
function* issuerProblems(document: Report, at: readonly string[]): Generator<Problem> {
  const url = document.text(...at, 'url')
  const discovery = document.text(...at, 'discoveryURL')
  if (url === '') yield [at, 'the issuer needs url']
  for (const [field, text] of Object.entries({ url, discoveryURL: discovery })) {
    const problem = text === '' ? null : urlProblem(text)
    if (problem !== null) yield [[...at, field], problem]
  }
  if (discovery !== '' && withoutSlashes(discovery) === withoutSlashes(url))
    yield [[...at, 'discoveryURL'], 'discoveryURL must be another address than url']
  const audiences = document.texts(...at, 'audiences')
  if (audiences.length === 0) yield [at, 'the issuer needs audiences']
  for (const [i, { path, text }] of audiences.entries()) {
    if (text === '') yield [path, 'an audience can’t be empty']
    if (audiences.findIndex((one) => one.text === text) < i)
      yield [path, `the audience ${quoted(text)} is there twice`]
  }
  const policy = document.text(...at, 'audienceMatchPolicy')
  if (policy !== 'MatchAny' && (policy !== '' || audiences.length > 1))
    yield [
      policy === '' ? [...at, 'audiences'] : [...at, 'audienceMatchPolicy'],
      'several audiences need audienceMatchPolicy: MatchAny, and there is no other one',
    ]
  const selector = document.text(...at, 'egressSelectorType')
  if (!['', 'controlplane', 'cluster'].includes(selector))
    yield [[...at, 'egressSelectorType'], 'egressSelectorType is controlplane or cluster']
  const authority = document.text(...at, 'certificateAuthority')
  if (authority !== '' && !authority.includes('-----BEGIN CERTIFICATE-----'))
    yield [[...at, 'certificateAuthority'], 'certificateAuthority has no certificate in PEM']
}

/** `validatePrefixClaimOrExpression` */
function* mappingProblems(
  document: Report,
  at: readonly string[],
  name: string,
  isNeeded: boolean,
): Generator<Problem> {
  const [claim, expression] = [document.text(...at, 'claim'), document.text(...at, 'expression')]
  const hasPrefix = document.entries(...at).some(({ key, node }) => {
    const isNull = node.is === 'scalar' && node.value === null
    return key === 'prefix' && !isNull
  })
  if (claim !== '' && expression !== '') yield [at, `${name} has either claim or expression`]
  else if (claim === '' && expression === '') {
    if (isNeeded) yield [at, `${name} needs a claim or an expression`]
  } else if (expression !== '' && hasPrefix)
    yield [[...at, 'prefix'], `${name} can’t have prefix beside an expression`]
  else if (claim !== '' && !hasPrefix)
    yield [at, `${name} needs prefix beside its claim; prefix: "" adds nothing to the name`]
}

/** `validateClaimValidationRules` and `validateUserValidationRules` */
function* ruleProblems(document: Report, at: readonly string[]): Generator<Problem> {
  const seen = new Set<string>()
  for (const { path } of document.items(...at, 'claimValidationRules')) {
    const text = (field: string): string => document.text(...path, field)
    const [claim, expression] = [text('claim'), text('expression')]
    if ((claim === '') === (expression === ''))
      yield [path, 'a rule of claims has either claim or expression']
    else if (claim !== '' && text('message') !== '')
      yield [[...path, 'message'], 'message belongs to an expression, not to a claim']
    else if (expression !== '' && text('requiredValue') !== '')
      yield [[...path, 'requiredValue'], 'requiredValue belongs to a claim, not to an expression']
    const key = claim === '' ? `expression ${expression}` : `claim ${claim}`
    if (seen.has(key)) yield [path, `the rule for the ${key} is there twice`]
    seen.add(key)
  }
  const expressions = new Set<string>()
  for (const { path } of document.items(...at, 'userValidationRules')) {
    const expression = document.text(...path, 'expression')
    if (expression === '') yield [path, 'a rule of users needs an expression']
    else if (expressions.has(expression)) yield [path, 'a rule of users is there twice']
    expressions.add(expression)
  }
}

/** `validateClaimMappings`, its part about `extra` */
function* extraProblems(document: Report, at: readonly string[]): Generator<Problem> {
  const seen = new Set<string>()
  for (const { path } of document.items(...at, 'extra')) {
    const key = document.text(...path, 'key')
    const domain = key.split('/', 1)[0]!
    if (!/^[^/]+\/.+/.test(key) || key !== key.toLowerCase())
      yield [path, `the key ${quoted(key)} of extra must look like example.org/name, in lower case`]
    else if (/(?:^|\.)(?:kubernetes|k8s)\.io$/.test(domain))
      yield [path, `the key ${quoted(key)} of extra is Kubernetes’s own`]
    if (seen.has(key)) yield [path, `the key ${quoted(key)} of extra is there twice`]
    seen.add(key)
    if (document.text(...path, 'valueExpression') === '')
      yield [path, `the key ${quoted(key)} of extra needs valueExpression`]
  }
}

/** Expressions, with the only variable that each may use (`pkg/authentication/cel/compile.go`). */
function* expressionProblems(document: Report): Generator<Problem> {
  const expressions = document.items(...root, 'jwt').flatMap(({ path }) => {
    const mappings = [...path, 'claimMappings']
    const below = (list: string[], field: string) =>
      document.items(...list).map((one) => [...one.path, field])
    return [
      ...below([...path, 'claimValidationRules'], 'expression').map((at) => ({ at, of: 'claims' })),
      ...['username', 'groups', 'uid'].map((name) => ({
        at: [...mappings, name, 'expression'],
        of: 'claims',
      })),
      ...below([...mappings, 'extra'], 'valueExpression').map((at) => ({ at, of: 'claims' })),
      ...below([...path, 'userValidationRules'], 'expression').map((at) => ({ at, of: 'user' })),
    ]
  })
  for (const { at, of } of expressions) {
    const text = document.text(...at)
    const problem =
      text === ''
        ? undefined
        : celTextProblem(text, [of], at.includes('claimValidationRules') || of === 'user')
    if (problem !== undefined)
      yield [at, `the expression ${quoted(text)} doesn’t compile: ${problem}`]
  }
}

/** `ValidateAuthenticationConfiguration` */
function* problemsOf(document: Report): Generator<Problem> {
  const authenticators = document.items(...root, 'jwt')
  if (authenticators.length > mostAuthenticators)
    yield [[...root, 'jwt'], `there can be at most ${mostAuthenticators} authenticators in jwt`]
  const seen = new Map<string, Set<string>>()
  for (const { path } of authenticators) {
    const [issuer, mappings] = [
      [...path, 'issuer'],
      [...path, 'claimMappings'],
    ]
    yield* issuerProblems(document, issuer)
    for (const field of ['url', 'discoveryURL']) {
      const text = document.text(...issuer, field)
      const others = seen.get(field) ?? new Set()
      if (text !== '' && others.has(text))
        yield [[...issuer, field], `the ${field} ${quoted(text)} is there twice`]
      seen.set(field, others.add(text))
    }
    yield* ruleProblems(document, path)
    yield* mappingProblems(document, [...mappings, 'username'], 'claimMappings.username', true)
    yield* mappingProblems(document, [...mappings, 'groups'], 'claimMappings.groups', false)
    const uid = [...mappings, 'uid']
    if (document.text(...uid, 'claim') !== '' && document.text(...uid, 'expression') !== '')
      yield [uid, 'claimMappings.uid has either claim or expression']
    yield* extraProblems(document, mappings)
  }
  yield* expressionProblems(document)
  const anonymous = [...root, 'anonymous']
  if (document.has(...anonymous, 'conditions') && !document.flag(...anonymous, 'enabled'))
    yield [[...anonymous, 'conditions'], 'conditions need enabled: true']
}

export const authenticationRules: readonly RuntimeRule[] = [
  {
    id: 'authentication',
    minors: ['1.14'],
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go, ValidateAuthenticationConfiguration (v1.37.2); Talos 1.14 internal/app/machined/pkg/controllers/k8s/render_config_static_pods.go writes the text as it is',
    level: 'refuse',
    *find(config): Generator<Hit> {
      if (config.isWorker) return
      for (const document of config.of('KubeAuthenticationConfig'))
        for (const [path, problem] of problemsOf(document))
          yield {
            document,
            path,
            sentence: `In the configuration of authentication, ${problem}: otherwise the API server does not start`,
          }
    },
  },
]
