/** The kubelet's own configuration, its arguments and its mounts. */
import { durationMs } from '../config/formats.ts'
import { nearestOf } from '../config/nearest.ts'
import type { Report } from '../config/report.ts'
import { folderOf, placeOf } from './limits/folders.ts'
import { lastOf, settingOf } from './limits/values.ts'
import { quoted, type RuntimeRule } from './rule.ts'

const words = (text: string): readonly string[] => text.split(/\s+/)
const extraConfig = ['machine', 'kubelet', 'extraConfig'] as const
const isDown = 'the kubelet does not start'

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
