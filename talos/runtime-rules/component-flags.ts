/** Values of arguments that have another type than the component's flag. */
import { addressOf } from '../network-effect/addresses.ts'
import { textOf } from '../config/report.ts'
import type { TreeNode } from '../config/tree.ts'
import { quoted, type RuntimeRule } from './rule.ts'

/** What is wrong with a value, or null. */
type Check = (text: string) => string | null

const words = (text: string): readonly string[] => text.trim().split(/\s+/)
const form =
  (pattern: RegExp, should: string): Check =>
  (text) =>
    pattern.test(text) ? null : should
const oneOf =
  (text: string): Check =>
  (value) =>
    words(text).includes(value) ? null : `must be one of ${words(text).join(', ')}`
const each =
  (check: Check): Check =>
  (text) =>
    text
      .split(',')
      .map((part) => check(part.trim()))
      .find((problem) => problem !== null) ?? null

/** Empty parts are left out (component-base `cli/flag/configuration_map.go`, Set). */
const eachGiven =
  (check: Check): Check =>
  (text) => {
    const parts = text.split(',').filter((part) => part !== '')
    return parts.length === 0 ? null : each(check)(parts.join())
  }

/** Go `time.ParseDuration`. */
const duration = form(
  /^(?:0|[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/,
  'must be a time span with a unit, such as 40s',
)
const integer = form(/^[+-]?\d+$/, 'must be a whole number')
/** Go `strconv.ParseBool`. */
const boolean = form(/^(?:1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$/, 'must be true or false')
const address: Check = (text) =>
  addressOf(text) === undefined ? 'must be an address without a port' : null
const urls = each(form(/^https?:\/\/\S+:\d+$/, 'must be a URL such as http://0.0.0.0:2381'))
const tlsVersion = oneOf('VersionTLS10 VersionTLS11 VersionTLS12 VersionTLS13')

/** One version of an API (apiserver `pkg/server/resourceconfig/helpers.go`, ParseGroupVersions). */
const apiVersion: Check = (text) => {
  const [key = '', value = ''] = text.split('=', 2)
  if (/^api\/(?:all|ga|beta|alpha)$/.test(key))
    return /^(?:true|false)$/.test(value) ? null : `needs true or false for ${key}`
  if (![2, 3].includes(key.split('/').length))
    return 'must name versions of APIs such as batch/v1=true'
  return value === '' ? null : boolean(value)
}

const flags = (check: Check, names: string): Record<string, Check> =>
  Object.fromEntries(words(names).map((name) => [name, check]))

const ofAll = { ...flags(integer, 'v'), ...flags(boolean, 'profiling leader-elect') }
const serving = {
  ...flags(address, 'bind-address'),
  ...flags(integer, 'secure-port'),
  ...flags(tlsVersion, 'tls-min-version'),
}

const components: readonly {
  readonly section: readonly string[]
  readonly name: string
  readonly checks: Readonly<Record<string, Check>>
}[] = [
  {
    section: ['cluster', 'apiServer'],
    name: 'the API server',
    checks: {
      ...ofAll,
      ...serving,
      ...flags(address, 'advertise-address'),
      ...flags(
        duration,
        `authentication-token-webhook-cache-ttl event-ttl request-timeout
        service-account-max-token-expiration shutdown-delay-duration`,
      ),
      ...flags(
        integer,
        `audit-log-maxage audit-log-maxbackup audit-log-maxsize
        default-not-ready-toleration-seconds default-unreachable-toleration-seconds
        max-mutating-requests-inflight max-requests-inflight min-request-timeout`,
      ),
      ...flags(boolean, 'allow-privileged anonymous-auth enable-aggregator-routing'),
      'audit-log-format': oneOf('json legacy'),
      'audit-log-mode': oneOf('batch blocking blocking-strict'),
      'runtime-config': eachGiven(apiVersion),
      'authorization-mode': each(oneOf('AlwaysAllow AlwaysDeny ABAC Webhook RBAC Node')),
    },
  },
  {
    section: ['cluster', 'controllerManager'],
    name: 'the controller manager',
    checks: {
      ...ofAll,
      ...serving,
      ...flags(
        duration,
        `attach-detach-reconcile-sync-period cluster-signing-duration
        horizontal-pod-autoscaler-sync-period leader-elect-lease-duration
        node-monitor-grace-period node-monitor-period`,
      ),
      ...flags(
        integer,
        `concurrent-deployment-syncs concurrent-service-syncs kube-api-burst node-cidr-mask-size
        node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 terminated-pod-gc-threshold`,
      ),
      ...flags(boolean, 'allocate-node-cidrs'),
    },
  },
  {
    section: ['cluster', 'scheduler'],
    name: 'the scheduler',
    checks: {
      ...ofAll,
      ...serving,
      ...flags(integer, 'kube-api-burst'),
      ...flags(duration, 'leader-elect-lease-duration'),
    },
  },
  {
    section: ['cluster', 'proxy'],
    name: 'kube-proxy',
    checks: { ...flags(integer, 'v'), 'proxy-mode': oneOf('iptables ipvs nftables') },
  },
  {
    section: ['cluster', 'etcd'],
    name: 'etcd',
    checks: {
      ...flags(
        integer,
        `election-timeout heartbeat-interval max-request-bytes max-snapshots max-txn-ops max-wals
        quota-backend-bytes snapshot-count`,
      ),
      'auto-compaction-mode': oneOf('periodic revision'),
      'auto-compaction-retention': (text) => (/^\d+$/.test(text) ? null : duration(text)),
      'listen-metrics-urls': urls,
      'log-level': oneOf('debug info warn error panic fatal'),
    },
  },
  {
    section: ['machine', 'kubelet'],
    name: 'the kubelet',
    checks: {
      ...flags(integer, 'image-gc-high-threshold image-gc-low-threshold max-pods pods-per-core v'),
      ...flags(duration, 'node-status-update-frequency'),
      ...flags(boolean, 'rotate-certificates rotate-server-certificates'),
    },
  },
]

/** The values of an argument, which is a text or a list of texts. */
const valuesOf = (node: TreeNode): string[] =>
  node.is === 'list' ? node.items.map(textOf) : [textOf(node)]

export const componentFlagRules: readonly RuntimeRule[] = [
  {
    id: 'component-argument-value',
    source:
      'Kubernetes cmd/kube-*/app/options and staging/src/k8s.io/component-base, etcd server/etcdmain/config.go: a flag that can’t be parsed ends the program (spf13/pflag)',
    level: 'refuse',
    *find({ main }) {
      for (const { section, name, checks } of components)
        for (const { path, key, node } of main.entries(...section, 'extraArgs'))
          for (const text of valuesOf(node)) {
            const problem = Object.hasOwn(checks, key) ? checks[key]!(text) : null
            if (problem !== null)
              yield {
                document: main,
                path,
                sentence: `${key} ${problem}, not ${quoted(text)}, or ${name} does not start`,
              }
          }
    },
  },
  {
    id: 'authentication-twice',
    source:
      'Kubernetes pkg/kubeapiserver/options/authentication.go, Validate: "authentication-config file and oidc-* flags are mutually exclusive"',
    level: 'refuse',
    *find({ main }) {
      const at = ['cluster', 'apiServer', 'extraArgs']
      if (!main.has(...at, 'authentication-config')) return
      for (const { path, key } of main.entries(...at))
        if (key.startsWith('oidc-'))
          yield {
            document: main,
            path,
            sentence: `The API server does not start with both ${key} and authentication-config: write the issuer into the file`,
          }
    },
  },
  {
    id: 'sysctl-of-vlan',
    source:
      'Talos pkg/kernel/kernel.go and sysctl.d(5): dots become slashes, unless the first separator is a slash',
    level: 'refuse',
    *find({ main }) {
      for (const { path, key } of main.entries('machine', 'sysctls')) {
        const [, before, link, last] =
          /^(net\.ipv[46]\.(?:conf|neigh))\.([^./]+\.\d+)\.(\w+)$/.exec(key) ?? []
        if (before !== undefined)
          yield {
            document: main,
            path,
            sentence: `${key} is not found, because the name of the link has a dot: write ${before.replaceAll('.', '/')}/${link}/${last}`,
          }
      }
    },
  },
]
