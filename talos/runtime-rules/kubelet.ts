/** The kubelet's own configuration, its arguments and its mounts. */
import { durationMs } from '../config/formats.ts'
import { nearestOf } from '../config/nearest.ts'
import { type Report, textOf } from '../config/report.ts'
import type { TreeNode } from '../config/tree.ts'
import { folderOf, placeOf } from './limits/folders.ts'
import { isQuantity, lastOf, settingOf } from './limits/values.ts'
import { type Hit, quoted, type RuntimeRule } from './rule.ts'

const words = (text: string): readonly string[] => text.split(/\s+/)
const extraConfig = ['machine', 'kubelet', 'extraConfig'] as const
const isDown = 'the kubelet does not start'

/** What fields of the kubelet's configuration take. A dot leads into a mapping or a list of them. */
interface Kind {
  readonly what: string
  readonly takes: (node: TreeNode) => boolean
  readonly fields: readonly string[]
}

const isText = (node: TreeNode): boolean => node.is === 'scalar' && typeof node.value === 'string'
const isFlag = (node: TreeNode): boolean => node.is === 'scalar' && typeof node.value === 'boolean'
const isWhole = (node: TreeNode): boolean =>
  node.is === 'scalar' && (typeof node.value === 'bigint' || Number.isInteger(node.value))
const isNull = (node: TreeNode): boolean => node.is === 'scalar' && node.value === null
const allOf = (node: TreeNode, is: (one: TreeNode) => boolean): boolean =>
  node.is === 'map'
    ? [...node.entries.values()].every(({ value }) => is(value))
    : node.is === 'list' && node.items.every(is)

/**
 * Fields of `KubeletConfiguration` (Kubernetes `staging/src/k8s.io/kubelet/config/v1beta1/types.go`
 * at v0.36.3, which Talos 1.13 uses; v0.35.4 of Talos 1.12 lacks memoryReservationPolicy and
 * tlsCurvePreferences; defaultPodSysctls came after 1.36), and those in their mappings
 * (`component-base` `logs/api/v1/types.go` and `tracing/api/v1/types.go`, `api/core/v1`, Taint).
 */
const kinds: readonly Kind[] = [
  {
    what: 'true or false',
    takes: isFlag,
    fields: words(
      `cgroupsPerQOS cpuCFSQuota enableControllerAttachDetach enableDebugFlagsHandler
      enableDebuggingHandlers enableProfilingHandler enableServer enableSystemLogHandler
      enableSystemLogQuery failCgroupV1 failSwapOn localStorageCapacityIsolation
      makeIPTablesUtilChains mergeDefaultEvictionSettings registerNode seccompDefault
      serializeImagePulls singleProcessOOMKill enableContentionProfiling kernelMemcgNotification
      protectKernelDefaults rotateCertificates runOnce serverTLSBootstrap
      authentication.anonymous.enabled authentication.webhook.enabled
      logging.options.json.splitStream logging.options.text.splitStream`,
    ),
  },
  {
    what: 'a text',
    takes: isText,
    fields: words(
      `address cgroupDriver cgroupRoot clusterDomain containerLogMaxSize containerRuntimeEndpoint
      contentType cpuManagerPolicy hairpinMode healthzBindAddress imageServiceEndpoint
      kubeReservedCgroup kubeletCgroups memoryManagerPolicy podCIDR podLogsDir providerID
      reservedSystemCPUs showHiddenMetricsForVersion staticPodPath staticPodURL systemCgroups
      systemReservedCgroup tlsCertFile tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy
      topologyManagerScope volumePluginDir imagePullCredentialsVerificationPolicy resolvConf
      configMapAndSecretChangeDetectionStrategy memoryReservationPolicy
      authentication.x509.clientCAFile authorization.mode logging.format logging.vmodule.filePattern
      memorySwap.swapBehavior registerWithTaints.effect registerWithTaints.key
      registerWithTaints.timeAdded registerWithTaints.value tracing.endpoint`,
    ),
  },
  {
    what: 'a time span such as 30s',
    takes: (node) => isText(node) && durationMs(textOf(node)) !== undefined,
    fields: words(
      `cpuManagerReconcilePeriod evictionPressureTransitionPeriod fileCheckFrequency
      httpCheckFrequency imageMaximumGCAge imageMinimumGCAge nodeStatusReportFrequency
      nodeStatusUpdateFrequency runtimeRequestTimeout shutdownGracePeriod
      shutdownGracePeriodCriticalPods streamingConnectionIdleTimeout syncFrequency
      volumeStatsAggPeriod containerLogMonitorInterval cpuCFSQuotaPeriod
      authentication.webhook.cacheTTL authorization.webhook.cacheAuthorizedTTL
      authorization.webhook.cacheUnauthorizedTTL crashLoopBackOff.maxContainerRestartPeriod`,
    ),
  },
  {
    what: 'a whole number',
    takes: isWhole,
    fields: words(
      `eventBurst evictionMaxPodGracePeriod kubeAPIBurst maxPods nodeLeaseDurationSeconds podsPerCore
      port readOnlyPort registryBurst containerLogMaxFiles containerLogMaxWorkers eventRecordQPS
      healthzPort imageGCHighThresholdPercent imageGCLowThresholdPercent iptablesDropBit
      iptablesMasqueradeBit kubeAPIQPS maxParallelImagePulls nodeStatusMaxImages oomScoreAdj
      registryPullQPS podPidsLimit maxOpenFiles logging.verbosity logging.vmodule.verbosity
      reservedMemory.numaNode shutdownGracePeriodByPodPriority.priority
      shutdownGracePeriodByPodPriority.shutdownGracePeriodSeconds tracing.samplingRatePerMillion
      userNamespaces.idsPerPod`,
    ),
  },
  {
    what: 'a list of texts',
    takes: (node) => node.is === 'list' && allOf(node, isText),
    fields: words(
      `allowedUnsafeSysctls clusterDNS enforceNodeAllocatable preloadedImagesVerificationAllowlist
      tlsCipherSuites`,
    ),
  },
  {
    what: 'a list of whole numbers',
    takes: (node) => node.is === 'list' && allOf(node, isWhole),
    fields: ['tlsCurvePreferences'],
  },
  {
    what: 'a mapping of names to texts in quotes, such as cpu: "1"',
    takes: (node) => node.is === 'map' && allOf(node, isText),
    fields: words(
      `cpuManagerPolicyOptions defaultPodSysctls evictionHard evictionMinimumReclaim evictionSoft
      evictionSoftGracePeriod kubeReserved qosReserved systemReserved topologyManagerPolicyOptions`,
    ),
  },
  {
    what: 'a mapping of names to true or false',
    takes: (node) => node.is === 'map' && allOf(node, isFlag),
    fields: ['featureGates'],
  },
  {
    what: 'a number',
    takes: (node) => isWhole(node) || (node.is === 'scalar' && typeof node.value === 'number'),
    fields: ['memoryThrottlingFactor'],
  },
  {
    what: 'a mapping',
    takes: (node) => node.is === 'map',
    fields: words(
      `authentication authentication.anonymous authentication.webhook authentication.x509
      authorization authorization.webhook crashLoopBackOff logging logging.options
      logging.options.json logging.options.text memorySwap reservedMemory.limits staticPodURLHeader
      tracing userNamespaces`,
    ),
  },
  {
    what: 'a list of mappings',
    takes: (node) => node.is === 'list' && node.items.every((item) => item.is === 'map'),
    fields: words(
      'logging.vmodule registerWithTaints reservedMemory shutdownGracePeriodByPodPriority',
    ),
  },
  {
    what: 'a time span such as 5s, or a number of nanoseconds',
    takes: (node) => isWhole(node) || (isText(node) && durationMs(textOf(node)) !== undefined),
    fields: ['logging.flushFrequency'],
  },
  {
    what: 'an amount such as 64Mi',
    takes: (node) => isWhole(node) || (isText(node) && isQuantity(textOf(node))),
    fields: ['logging.options.json.infoBufferSize', 'logging.options.text.infoBufferSize'],
  },
]
const kindOf = new Map(kinds.flatMap((kind) => kind.fields.map((field) => [field, kind] as const)))
const parentOf = (field: string): string => field.split('.').slice(0, -1).join('.')
/** The names of the fields of each mapping, by its field; the empty one is the configuration. */
const namesIn = Map.groupBy(kindOf.keys(), parentOf)

/** What is wrong with the fields of a mapping and of those in it. */
function* fieldProblems(main: Report, at: readonly string[], parent: string): Generator<Hit> {
  for (const { path, key, node } of main.entries(...at)) {
    const field = parent === '' ? key : `${parent}.${key}`
    const kind = kindOf.get(field)
    if (ofTalos.has(field) || isNull(node)) continue
    if (kind === undefined || parentOf(field) !== parent) {
      const near = nearestOf(
        key,
        namesIn.get(parent)!.map((one) => one.split('.').at(-1)!),
      )
      yield {
        document: main,
        path,
        sentence: `The kubelet’s configuration has no field ${field}, and with an unknown one it does not start${near === null ? '' : `. Did you mean ${near}?`}`,
      }
    } else if (!kind.takes(node))
      yield {
        document: main,
        path,
        sentence: `The kubelet’s field ${field} must be ${kind.what}; otherwise ${isDown}`,
      }
    else if (namesIn.has(field)) {
      yield* fieldProblems(main, path, field)
      for (const item of main.items(...path)) yield* fieldProblems(main, item.path, field)
    }
  }
}
/** Set by Talos; its validator refuses them (`pkg/machinery/kubelet`, ProtectedConfigurationFields). */
const ofTalos = new Set(['apiVersion', 'kind'])

/** Values that the kubelet knows. An empty one stands for the default. */
const choices: ReadonlyMap<string, readonly string[]> = new Map([
  ['cpuManagerPolicy', ['none', 'static']],
  ['memoryManagerPolicy', ['None', 'Static']],
  ['topologyManagerPolicy', ['none', 'best-effort', 'restricted', 'single-numa-node']],
  ['topologyManagerScope', ['container', 'pod']],
  ['hairpinMode', ['promiscuous-bridge', 'hairpin-veth', 'none']],
  ['tlsMinVersion', ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13']],
  ['memorySwap.swapBehavior', ['NoSwap', 'LimitedSwap']],
  ['logging.format', ['text', 'json']],
])
const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** Arguments of the kubelet (Kubernetes `cmd/kubelet/app/options`, v1.30 to v1.36). */
const kubeletArguments: ReadonlySet<string> = new Set(
  words(
    `address allowed-unsafe-sysctls anonymous-auth application-metrics-count-limit
    authentication-token-webhook authentication-token-webhook-cache-ttl authorization-mode
    authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
    azure-container-registry-config boot-id-file bootstrap-kubeconfig cert-dir cgroup-driver
    cgroup-root cgroups-per-qos client-ca-file cloud-config cloud-provider cluster-dns cluster-domain
    config config-dir container-hints container-log-max-files container-log-max-size
    container-runtime container-runtime-endpoint containerd containerd-namespace contention-profiling
    cpu-cfs-quota cpu-cfs-quota-period cpu-manager-policy cpu-manager-policy-options
    cpu-manager-reconcile-period enable-controller-attach-detach enable-debugging-handlers
    enable-load-reader enable-server enforce-node-allocatable event-burst event-qps
    event-storage-age-limit event-storage-event-limit eviction-hard eviction-max-pod-grace-period
    eviction-minimum-reclaim eviction-pressure-transition-period eviction-soft
    eviction-soft-grace-period exit-on-lock-contention experimental-allocatable-ignore-eviction
    experimental-mounter-path fail-cgroupv1 fail-swap-on feature-gates file-check-frequency
    global-housekeeping-interval hairpin-mode healthz-bind-address healthz-port help
    hostname-override housekeeping-interval http-check-frequency image-credential-provider-bin-dir
    image-credential-provider-config image-gc-high-threshold image-gc-low-threshold
    image-service-endpoint keep-terminated-pod-volumes kernel-memcg-notification kube-api-burst
    kube-api-content-type kube-api-qps kube-reserved kube-reserved-cgroup kubeconfig kubelet-cgroups
    local-storage-capacity-isolation lock-file log-cadvisor-usage log-flush-frequency
    log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream
    logging-format machine-id-file make-iptables-util-chains manifest-url manifest-url-header
    max-open-files max-pods maximum-dead-containers maximum-dead-containers-per-container
    memory-manager-policy minimum-container-ttl-duration minimum-image-ttl-duration node-ip
    node-labels node-status-max-images node-status-update-frequency oom-score-adj pod-cidr
    pod-infra-container-image pod-manifest-path pod-max-pids pods-per-core port
    protect-kernel-defaults provider-id qos-reserved read-only-port register-node
    register-schedulable register-with-taints registry-burst registry-qps reserved-cpus
    reserved-memory resolv-conf root-dir rotate-certificates rotate-server-certificates runonce
    runtime-cgroups runtime-request-timeout seccomp-default serialize-image-pulls storage-driver-buffer-duration
    storage-driver-db storage-driver-host storage-driver-password storage-driver-secure
    storage-driver-table storage-driver-user streaming-connection-idle-timeout sync-frequency
    system-cgroups system-reserved system-reserved-cgroup tls-cert-file tls-cipher-suites
    tls-min-version tls-private-key-file topology-manager-policy topology-manager-policy-options
    topology-manager-scope v version vmodule volume-plugin-dir volume-stats-agg-period`,
  ),
)

/** The folders of the host that the kubelet gets. A path without / begins at the root as well. */
const mountsOf = (main: Report) =>
  main.items('machine', 'kubelet', 'extraMounts').map((mount) => {
    const path = [...mount.path, 'source']
    const source = main.text(...path)
    return { path, source, folder: folderOf(source) }
  })

export const kubeletRules: readonly RuntimeRule[] = [
  {
    id: 'kubelet-field',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/kubelet_spec.go, prepareExtraConfig: FromUnstructuredWithValidation refuses unknown fields and other types, also in mappings',
    level: 'refuse',
    *find({ main }) {
      yield* fieldProblems(main, extraConfig, '')
    },
  },
  {
    id: 'kubelet-value',
    source:
      'Kubernetes pkg/kubelet/apis/config/validation/validation.go, ValidateKubeletConfiguration; component-base logs/api/v1/options.go: "Unsupported log format"; Talos pkg/machinery/constants has 30s and 10s for shutdownGracePeriod and shutdownGracePeriodCriticalPods',
    level: 'refuse',
    *find({ main }) {
      const place = (...more: string[]) => ({ document: main, path: [...extraConfig, ...more] })
      const textAt = (...more: string[]) => main.text(...extraConfig, ...more)
      for (const [field, known] of choices) {
        const path = settingOf(main, field) ?? [...extraConfig, ...field.split('.')]
        const text = lastOf(main, path)
        if (text !== '' && !known.includes(text))
          yield {
            document: main,
            path,
            sentence: `${quoted(text)} is no ${field} of the kubelet (${known.join(', ')}), so ${isDown}`,
          }
      }
      const [all, critical] = [
        textAt('shutdownGracePeriod') || '30s',
        textAt('shutdownGracePeriodCriticalPods') || '10s',
      ]
      if ((durationMs(critical) ?? 0) > (durationMs(all) ?? Infinity))
        yield {
          ...place(
            textAt('shutdownGracePeriodCriticalPods') === ''
              ? 'shutdownGracePeriod'
              : 'shutdownGracePeriodCriticalPods',
          ),
          sentence: `shutdownGracePeriodCriticalPods (${critical}) is a part of shutdownGracePeriod (${all}) and can’t be longer, so ${isDown}`,
        }
      const [high, low] = [
        main.number(...extraConfig, 'imageGCHighThresholdPercent') ?? 85,
        main.number(...extraConfig, 'imageGCLowThresholdPercent') ?? 80,
      ]
      if (low >= high || high > 100 || low < 0)
        yield {
          ...place(
            main.has(...extraConfig, 'imageGCLowThresholdPercent')
              ? 'imageGCLowThresholdPercent'
              : 'imageGCHighThresholdPercent',
          ),
          sentence: `imageGCLowThresholdPercent (${low}) must be less than imageGCHighThresholdPercent (${high}), and both are from 0 to 100; otherwise ${isDown}`,
        }
      for (const { path } of main.items(...extraConfig, 'registerWithTaints')) {
        const effect = main.text(...path, 'effect')
        if (!effects.includes(effect))
          yield {
            document: main,
            path: [...path, 'effect'],
            sentence: `A taint has one of the effects ${effects.join(', ')}, not ${quoted(effect)}, so ${isDown}`,
          }
      }
    },
  },
  {
    id: 'kubelet-argument',
    source:
      'Kubernetes cmd/kubelet/app/options/options.go, AddFlags; pflag: "unknown flag"; component-base cli/flag takes _ for -',
    level: 'refuse',
    *find({ main }) {
      for (const { path, key } of main.entries('machine', 'kubelet', 'extraArgs')) {
        // Another rule tells of dashes and spaces.
        if (kubeletArguments.has(key.replaceAll('_', '-')) || !/^[a-zA-Z][\w-]*$/.test(key))
          continue
        const near = nearestOf(key, kubeletArguments)
        yield {
          document: main,
          path,
          sentence: `The kubelet has no argument ${key}, and with an unknown one it does not start${near === null ? '' : `. Did you mean ${near}?`}`,
        }
      }
    },
  },
  {
    id: 'kubelet-mount',
    source:
      'Talos internal/app/machined/pkg/system/services/kubelet.go: MkdirAll of the source fails on the read-only root (siderolabs/talos#4143) and on a file, and the kubelet does not start',
    level: 'refuse',
    *find({ main }) {
      for (const { path, source, folder } of mountsOf(main)) {
        const place = placeOf(folder)
        const problem =
          source === ''
            ? `A mount of the kubelet needs its source; otherwise ${isDown}`
            : place === 'file'
              ? `${quoted(source)} is a file, and the kubelet gets only folders, so ${isDown}: write the content to a folder below /var by machine.files, and mount that folder`
              : place === 'nothing'
                ? `The folder ${source} can’t be made, because Talos’s root file system is read-only, so ${isDown}: use a folder below /var, such as /var${folder}`
                : null
        if (problem !== null) yield { document: main, path, sentence: problem }
      }
    },
  },
  {
    id: 'kubelet-mount-unknown',
    source:
      'Talos internal/app/machined/pkg/system/services/kubelet.go: MkdirAll of the source fails on the read-only root; Dockerfile, rootfs; pkg/machinery/extensions/extensions.go, AllowedPaths. Packages may bring more folders',
    level: 'warn',
    *find({ main }) {
      for (const { path, source, folder } of mountsOf(main))
        if (placeOf(folder) === 'unknown')
          yield {
            document: main,
            path,
            sentence: `Talos’s image is not known to have ${quoted(source)}, and nothing can be made there: unless an extension brings it, ${isDown}. Use a folder below /var, such as /var${folder}`,
          }
    },
  },
  {
    id: 'kubelet-mount-flexvolume',
    minors: ['1.14'],
    source:
      'Talos hack/release.toml (v1.14.0-rc.1), "FlexVolume Host Path Removed"; pkg/machinery/constants, Overlays; MkdirAll of the source fails on the read-only root',
    level: 'refuse',
    *find({ main }) {
      for (const { path, source, folder } of mountsOf(main))
        if (`${folder}/`.startsWith('/usr/libexec/kubernetes/'))
          yield {
            document: main,
            path,
            sentence: `Talos has no folder /usr/libexec/kubernetes since 1.14, and ${quoted(source)} can’t be made, so ${isDown}: leave the mount out, or use a folder below /var`,
          }
    },
  },
]
