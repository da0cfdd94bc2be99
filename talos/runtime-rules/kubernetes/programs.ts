/** Values of kube-proxy, of credential providers and of the scheduler. */
import { durationMs } from '../../config/formats.ts'
import { prefixOf } from '../../network-effect/addresses.ts'
import { type Hit, quoted, type RuntimeRule } from '../rule.ts'
import {
  at,
  electionProblems,
  type Given,
  isNetwork,
  isQualified,
  isSet,
  isSloppyAddress,
  logProblems,
  oneOf,
  ranges,
  spans,
  textAt,
  type Wrong,
} from './values.ts'

/** Why a text is no address with a port, or null; the port may be left out. */
function addressProblem(text: string): string | null {
  if (isSloppyAddress(text)) return null
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(text) ?? []
  if (host === undefined || !isSloppyAddress(host)) return 'is no address with a port'
  return Number(port) >= 1 && Number(port) <= 65_535 ? null : 'has no port from 1 to 65535'
}

const localModes = ['ClusterCIDR', 'NodeCIDR', 'BridgeInterface', 'InterfaceNamePrefix']
const portKeywords = new Set(['primary', 'localhost', 'all'])

/** `validateDetectLocalConfiguration` */
function* localProblems(given: Given): Generator<Wrong> {
  yield* oneOf(given, { detectLocalMode: localModes })
  const mode = textAt(given, 'detectLocalMode')
  const needed = { BridgeInterface: 'bridgeInterface', InterfaceNamePrefix: 'interfaceNamePrefix' }
  for (const [name, field] of Object.entries(needed))
    if (mode === name && textAt(given, `detectLocal.${field}`) === '')
      yield [at(given, 'detectLocalMode'), `detectLocalMode ${name} needs detectLocal.${field}`]
  const text = textAt(given, 'clusterCIDR')
  if (mode !== 'ClusterCIDR' || text === '') return
  const networks = text.split(',')
  const families = new Set(networks.map((one) => prefixOf(one.trim())?.family))
  if (networks.length > 2 || networks.some((one) => !isNetwork(one)))
    yield [
      at(given, 'clusterCIDR'),
      `clusterCIDR ${quoted(text)} is no network, and no pair of them`,
    ]
  else if (networks.length === 2 && families.size < 2)
    yield [at(given, 'clusterCIDR'), 'two networks of clusterCIDR are one of IPv4 and one of IPv6']
}

/** `Validate` of kube-proxy */
function* proxyProblems(given: Given): Generator<Wrong> {
  const mode = textAt(given, 'mode')
  yield* ranges(given, {
    'iptables.masqueradeBit': [0, 31],
    ...(mode === 'nftables' && { 'nftables.masqueradeBit': [0, 31] as const }),
    'conntrack.maxPerCore': [0, Infinity],
    'conntrack.min': [0, Infinity],
    oomScoreAdj: [-1000, 1000],
    'clientConnection.burst': [0, Infinity],
  })
  const section = mode === '' ? 'iptables' : mode
  yield* spans(given, [
    'configSyncPeriod',
    ...['tcpEstablishedTimeout', 'tcpCloseWaitTimeout', 'udpTimeout', 'udpStreamTimeout'].map(
      (name) => `conntrack.${name}`,
    ),
    ...(mode === 'ipvs'
      ? ['tcpTimeout', 'tcpFinTimeout', 'udpTimeout'].map((name) => `ipvs.${name}`)
      : []),
    `${section}.syncPeriod`,
    `${section}.minSyncPeriod`,
  ])
  const span = (name: string, otherwise: number): number =>
    durationMs(textAt(given, `${section}.${name}`)) || otherwise
  const least = span('minSyncPeriod', section === 'ipvs' ? 0 : 1000)
  if (span('syncPeriod', 30_000) >= 0 && least > span('syncPeriod', 30_000))
    yield [
      at(
        given,
        `${section}.${isSet(given, `${section}.minSyncPeriod`) ? 'minSyncPeriod' : 'syncPeriod'}`,
      ),
      `minSyncPeriod of ${section} can’t be longer than its syncPeriod`,
    ]
  const bind = textAt(given, 'bindAddress')
  if (bind !== '' && !isSloppyAddress(bind))
    yield [at(given, 'bindAddress'), `bindAddress ${quoted(bind)} is no address`]
  for (const field of ['healthzBindAddress', 'metricsBindAddress']) {
    const text = textAt(given, field)
    const problem = text === '' ? null : addressProblem(text)
    if (problem !== null) yield [at(given, field), `${field} ${quoted(text)} ${problem}`]
  }
  const seen = new Set<string>()
  for (const { path, text } of given.document.texts(...at(given, 'nodePortAddresses'))) {
    if (portKeywords.has(text) ? seen.has(text) : !isNetwork(text))
      yield [
        path,
        seen.has(text)
          ? `nodePortAddresses has ${text} twice`
          : `${quoted(text)} in nodePortAddresses is no network and none of ${[...portKeywords].join(', ')}`,
      ]
    seen.add(text)
  }
  if (mode === 'ipvs')
    for (const { path, text } of given.document.texts(...at(given, 'ipvs.excludeCIDRs')))
      if (!isNetwork(text)) yield [path, `${quoted(text)} in ipvs.excludeCIDRs is no network`]
  yield* localProblems(given)
  yield* logProblems(given)
}

const providerVersions = ['v1', 'v1beta1', 'v1alpha1'].map(
  (version) => `credentialprovider.kubelet.k8s.io/${version}`,
)
/** `validateCredentialProviderConfig`, its part about tokens */
function* tokenProblems(given: Given): Generator<Wrong> {
  if (!given.document.has(...given.root, 'tokenAttributes')) return
  const field = (name: string): string => `tokenAttributes.${name}`
  const need = (name: string): Wrong => [
    at(given, 'tokenAttributes'),
    `tokenAttributes needs ${name}`,
  ]
  if (textAt(given, field('serviceAccountTokenAudience')) === '')
    yield need('serviceAccountTokenAudience')
  const requires = textAt(given, field('requireServiceAccount'))
  if (requires === '') yield need('requireServiceAccount')
  if (textAt(given, 'apiVersion') !== providerVersions[0])
    yield [at(given, 'tokenAttributes'), `tokenAttributes needs apiVersion: ${providerVersions[0]}`]
  const cache = textAt(given, field('cacheType'))
  if (cache === '') yield need('cacheType')
  yield* oneOf(given, { [field('cacheType')]: ['ServiceAccount', 'Token'] })
  const keys = (name: string) => given.document.texts(...at(given, field(name)))
  const lists = ['requiredServiceAccountAnnotationKeys', 'optionalServiceAccountAnnotationKeys']
  if (requires === 'false' && keys(lists[0]!).length > 0)
    yield [at(given, field(lists[0]!)), `${lists[0]!} need requireServiceAccount: true`]
  const seen = new Set<string>()
  for (const { path, text } of lists.flatMap(keys)) {
    if (!isQualified(text.toLowerCase())) yield [path, `${quoted(text)} is no key of an annotation`]
    if (seen.has(text)) yield [path, `the key ${text} of annotations is there twice`]
    seen.add(text)
  }
}

/** `validateCredentialProviderConfig` */
function* providerProblems({ document, root }: Given): Generator<Wrong> {
  const providers = document.items(...root, 'providers')
  if (providers.length === 0) yield [root, 'at least one provider is needed']
  const seen = new Set<string>()
  for (const { path } of providers) {
    const given = { document, root: path }
    const name = textAt(given, 'name')
    if (/[/ ]/.test(name) || name === '.' || name === '..')
      yield [at(given, 'name'), `the name ${quoted(name)} of a provider is no name of a program`]
    if (name === '') yield [path, 'a provider needs the name of its program']
    if (seen.has(name)) yield [at(given, 'name'), `the provider ${name} is there twice`]
    seen.add(name)
    const version = textAt(given, 'apiVersion')
    if (version === '') yield [path, `a provider needs apiVersion: ${providerVersions[0]}`]
    yield* oneOf(given, { apiVersion: providerVersions })
    const images = document.texts(...path, 'matchImages')
    if (images.length === 0) yield [path, 'a provider needs matchImages']
    for (const one of images)
      if (!isMatcher(one.text)) yield [one.path, `${quoted(one.text)} is no pattern of images`]
    if (!isSet(given, 'defaultCacheDuration')) yield [path, 'a provider needs defaultCacheDuration']
    yield* spans(given, ['defaultCacheDuration'])
    yield* tokenProblems(given)
  }
}

/** Kubernetes `pkg/credentialprovider/keyring.go`, ParseSchemelessURL. */
function isMatcher(text: string): boolean {
  const url = text.startsWith('https://') ? text : `https://${text}`
  if (/[^!-~]|["<>\\^`{|}]/.test(text) || /%(?![\dA-Fa-f]{2})/.test(text)) return false
  const host = /^https:\/\/([^/?#]*)/.exec(url)?.[1] ?? ''
  return /:\d*$/.test(host) || !/:[^\]]*$/.test(host.replace(/^.*@/, ''))
}

/** Plugins that no longer exist (`invalidPluginsByVersion`). */
const gonePlugins = new Set(['AzureDiskLimits', 'CinderLimits', 'EBSLimits', 'GCEPDLimits'])

/** `validateExtenders` */
function* extenderProblems({ document, root }: Given): Generator<Wrong> {
  const seen = new Set<string>()
  let binders = 0
  for (const { path } of document.items(...root, 'extenders')) {
    const given = { document, root: path }
    if (textAt(given, 'prioritizeVerb') !== '' && (document.number(...path, 'weight') ?? 0) <= 0)
      yield [path, 'an extender with prioritizeVerb needs a positive weight']
    if (textAt(given, 'bindVerb') !== '' && (binders += 1) > 1)
      yield [at(given, 'bindVerb'), 'only one extender can bind']
    for (const resource of document.items(...path, 'managedResources')) {
      const name = document.text(...resource.path, 'name')
      if (
        !isQualified(name) ||
        !name.includes('/') ||
        /(^|\.)kubernetes\.io\//.test(name) ||
        name.startsWith('requests.')
      )
        yield [
          resource.path,
          `${quoted(name)} is no name of an extended resource, such as example.org/fpga`,
        ]
      if (seen.has(name)) yield [resource.path, `the resource ${name} has two extenders`]
      seen.add(name)
    }
  }
}

/** `validateKubeSchedulerProfile` and `validateCommonQueueSort` */
function* profileProblems({ document, root }: Given): Generator<Wrong> {
  const profiles = document.items(...root, 'profiles')
  const sorters = profiles.map(({ path }) =>
    JSON.stringify(
      ['enabled', 'disabled'].map((list) =>
        document
          .items(...path, 'plugins', 'queueSort', list)
          .map((one) => document.text(...one.path, 'name')),
      ),
    ),
  )
  for (const [i, { path }] of profiles.entries()) {
    const given = { document, root: path }
    yield* ranges(given, { percentageOfNodesToScore: [0, 100] })
    if (sorters[i] !== sorters[0])
      yield [at(given, 'plugins.queueSort'), 'all profiles need the same plugins.queueSort']
    if (document.items(...path, 'plugins', 'queueSort', 'enabled').length > 1)
      yield [at(given, 'plugins.queueSort'), 'only one plugin of queueSort can be enabled']
    for (const point of document.entries(...path, 'plugins'))
      for (const one of document.items(...point.path, 'enabled')) {
        const name = document.text(...one.path, 'name')
        if (gonePlugins.has(name)) yield [one.path, `there is no plugin ${name} any more`]
      }
    const seen = new Set<string>()
    for (const one of document.items(...path, 'pluginConfig')) {
      const name = document.text(...one.path, 'name')
      if (name === '' && i > 0 && isSet({ document, root: one.path }, 'args'))
        yield [one.path, 'pluginConfig needs the name of its plugin']
      else if (seen.has(name)) yield [one.path, `pluginConfig has ${name} twice`]
      else if (gonePlugins.has(name)) yield [one.path, `there is no plugin ${name} any more`]
      seen.add(name)
      yield* argumentProblems({ document, root: [...one.path, 'args'] }, name)
    }
  }
}

/** `ValidatePodTopologySpreadArgs` */
function* constraintProblems({ document, root }: Given): Generator<Wrong> {
  const seen = new Set<string>()
  for (const { path } of document.items(...root, 'defaultConstraints')) {
    const given = { document, root: path }
    const key = textAt(given, 'topologyKey')
    const then = textAt(given, 'whenUnsatisfiable')
    if ((document.number(...path, 'maxSkew') ?? 0) <= 0) yield [path, 'maxSkew is at least 1']
    if (!isQualified(key)) yield [path, `topologyKey ${quoted(key)} is no key of a label`]
    if (!['ScheduleAnyway', 'DoNotSchedule'].includes(then))
      yield [path, `whenUnsatisfiable is ScheduleAnyway or DoNotSchedule, not ${quoted(then)}`]
    if (document.has(...path, 'labelSelector'))
      yield [path, 'defaultConstraints can’t have labelSelector']
    if (seen.has(`${key} ${then}`))
      yield [path, `the constraint of ${key} and ${then} is there twice`]
    seen.add(`${key} ${then}`)
  }
}

/** Arguments of plugins (`validation_pluginargs.go`). */
function* argumentProblems(given: Given, plugin: string): Generator<Wrong> {
  switch (plugin) {
    case 'DefaultPreemption':
      yield* ranges(given, {
        minCandidateNodesPercentage: [0, 100],
        minCandidateNodesAbsolute: [0, Infinity],
      })
      break
    case 'InterPodAffinity':
      yield* ranges(given, { hardPodAffinityWeight: [0, 100] })
      break
    case 'PodTopologySpread':
      yield* oneOf(given, { defaultingType: ['System', 'List'] })
      if (
        textAt(given, 'defaultingType') !== 'List' &&
        given.document.items(...given.root, 'defaultConstraints').length > 0
      )
        yield [at(given, 'defaultConstraints'), 'defaultConstraints need defaultingType: List']
      yield* constraintProblems(given)
      break
    case 'VolumeBinding':
      yield* ranges(given, { bindTimeoutSeconds: [0, Infinity] })
      break
    default:
  }
}

function* schedulerProblems(given: Given): Generator<Wrong> {
  yield* electionProblems(given)
  yield* ranges(given, { 'clientConnection.burst': [0, Infinity] })
  const backoff = (field: string, otherwise: number): number =>
    given.document.number(...at(given, field)) ?? otherwise
  if (backoff('podMaxBackoffSeconds', 10) < backoff('podInitialBackoffSeconds', 1))
    yield [
      at(
        given,
        isSet(given, 'podMaxBackoffSeconds') ? 'podMaxBackoffSeconds' : 'podInitialBackoffSeconds',
      ),
      'podMaxBackoffSeconds can’t be less than podInitialBackoffSeconds',
    ]
  yield* profileProblems(given)
  yield* extenderProblems(given)
}

const hits = function* (
  given: Given,
  problems: (given: Given) => Generator<Wrong>,
  name: string,
  stops: string,
): Generator<Hit> {
  if (given.document.nearest(given.root).is !== 'map' || !given.document.has(...given.root)) return
  for (const [path, problem] of problems(given))
    yield {
      document: given.document,
      path,
      sentence: `In the configuration of ${name}, ${problem}: otherwise ${stops}`,
    }
}

export const programValueRules: readonly RuntimeRule[] = [
  {
    id: 'proxy-config-value',
    minors: ['1.14'],
    source:
      'Kubernetes pkg/proxy/apis/config/validation/validation.go, Validate, and v1alpha1/defaults.go (v1.37.2)',
    level: 'refuse',
    *find(config) {
      if (config.isWorker) return
      for (const document of config.of('KubeProxyConfig'))
        yield* hits(
          { document, root: ['config'] },
          proxyProblems,
          'kube-proxy',
          'it does not start on any node',
        )
    },
  },
  {
    id: 'credential-provider-value',
    source:
      'Kubernetes pkg/credentialprovider/plugin/config.go, validateCredentialProviderConfig (v1.37.2)',
    level: 'refuse',
    *find({ main }) {
      const root = ['machine', 'kubelet', 'credentialProviderConfig']
      yield* hits(
        { document: main, root },
        providerProblems,
        'credential providers',
        'the kubelet does not start',
      )
    },
  },
  {
    id: 'scheduler-config-value',
    source:
      'Kubernetes pkg/scheduler/apis/config/validation/validation.go and validation_pluginargs.go; component-base/config/validation/validation.go (v1.37.2)',
    level: 'refuse',
    *find(config) {
      if (config.isWorker) return
      const root = ['cluster', 'scheduler', 'config']
      yield* hits(
        { document: config.main, root },
        schedulerProblems,
        'the scheduler',
        'it does not start',
      )
    },
  },
]
