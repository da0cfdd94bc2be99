/** Kernel parameters: `machine.sysctls`. */
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'

const writer = 'Talos internal/app/machined/pkg/controllers/runtime/kernel_param_spec.go'

const sysctlsOf = ({ main }: Configuration) =>
  main
    .entries('machine', 'sysctls')
    // The first separator decides, and slashes and dots are exchanged (sysctl.d(5)); these names
    // have no dots in their parts.
    .map(({ path, key }) => ({
      path,
      key,
      name: /^[^.]*\//.test(key) ? key.replaceAll('/', '.') : key,
      value: main.text(...path).trim(),
    }))

/**
 * The values without which the kubelet does not start. Talos sets `protectKernelDefaults`, and the
 * kubelet then refuses other values.
 */
const kubeletNeeds: ReadonlyMap<string, string> = new Map([
  ['vm.overcommit_memory', '1'],
  ['vm.panic_on_oom', '0'],
  ['kernel.panic', '10'],
  ['kernel.panic_on_oops', '1'],
  ['kernel.keys.root_maxkeys', '1000000'],
  ['kernel.keys.root_maxbytes', '25000000'],
])

/** Folders of /proc/sys. */
const roots = new Set([
  'abi',
  'crypto',
  'debug',
  'dev',
  'fs',
  'fscache',
  'kernel',
  'net',
  'sunrpc',
  'user',
  'vm',
  'xen',
])

const forwarding =
  /^net\.ipv4\.(ip_forward|conf\.all\.forwarding)$|^net\.ipv6\.conf\.all\.forwarding$/

/** Parameters of whole numbers that are set often (Linux Documentation/admin-guide/sysctl). */
const numeric =
  /^(vm\.\w+|fs\.(file-max|nr_open|aio-max-nr|inotify\.\w+)|kernel\.(panic|panic_on_oops|pid_max|threads-max|sysrq|shmmax|shmall|shmmni|sem|msgmax|msgmnb|perf_event_paranoid|kptr_restrict|dmesg_restrict|keys\.\w+)|net\.core\.(somaxconn|netdev_max_backlog|[rw]mem_\w+|optmem_max|bpf_jit_\w+)|net\.ipv4\.(ip_forward|tcp_[rw]mem|tcp_(syncookies|fin_timeout|tw_reuse|keepalive_\w+|max_\w+|mtu_probing|fastopen)|neigh\.\w+\.gc_\w+)|net\.ipv[46]\.conf\.[\w-]+\.(forwarding|rp_filter|accept_ra|disable_ipv6|arp_\w+|proxy_arp)|net\.netfilter\.nf_conntrack_(max|buckets)|user\.max_\w+_namespaces)$/

export const sysctlRules: readonly RuntimeRule[] = [
  {
    id: 'sysctl-name',
    source: `${writer}; pkg/machinery/kernel/kernel.go, Param.Path: the name is a path below /proc/sys`,
    level: 'refuse',
    *find(config) {
      for (const { path, key } of sysctlsOf(config))
        if (!/^[A-Za-z0-9_@-]+([./:][A-Za-z0-9_@-]+)*$/.test(key))
          yield {
            document: config.main,
            path,
            sentence: `${quoted(key)} is not the name of a kernel parameter, such as net.core.somaxconn`,
          }
    },
  },
  {
    id: 'sysfs-name',
    source: `${writer}; pkg/machinery/kernel/kernel.go, Param.Path: the name is a path below /sys`,
    level: 'refuse',
    *find({ main }) {
      for (const { path, key } of main.entries('machine', 'sysfs'))
        if (/^(\/|sys[./])|\s/.test(key))
          yield {
            document: main,
            path,
            sentence: `${quoted(key)} is not found: write the path below /sys, such as devices.system.cpu.cpu0.cpufreq.scaling_governor`,
          }
    },
  },
  {
    id: 'sysctl-of-kubelet',
    source:
      'Kubernetes pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables; Talos internal/app/machined/pkg/controllers/k8s/kubelet_spec.go, ProtectKernelDefaults',
    level: 'refuse',
    *find(config) {
      for (const { path, name, value } of sysctlsOf(config)) {
        const needed = kubeletNeeds.get(name)
        if (needed !== undefined && value !== needed)
          yield {
            document: config.main,
            path,
            sentence: `${name} must be ${needed}: with ${value || 'nothing'} the kubelet does not start`,
          }
      }
    },
  },
  {
    id: 'sysctl-forwarding',
    source:
      'Talos internal/app/machined/pkg/controllers/runtime/kernel_param_defaults.go; Kubernetes needs forwarding between pods and links',
    level: 'warn',
    *find(config) {
      for (const { path, name, value } of sysctlsOf(config))
        if (forwarding.test(name) && value === '0')
          yield {
            document: config.main,
            path,
            sentence: `${name}: 0 stops the traffic between pods of different servers`,
          }
    },
  },
  {
    id: 'sysctl-unknown',
    source: `${writer}: a name that the kernel doesn't have is an error that Talos repeats and logs`,
    level: 'warn',
    *find(config) {
      for (const { path, name } of sysctlsOf(config)) {
        const [root] = name.split('.', 1)
        if (!name.includes('.') || !roots.has(root!))
          yield {
            document: config.main,
            path,
            sentence: `Linux has no kernel parameter ${name}, so it has no effect`,
          }
      }
    },
  },
  {
    id: 'sysctl-value',
    source: `${writer}; Linux kernel/sysctl.c, proc_dointvec and proc_doulongvec_minmax: EINVAL for a text`,
    level: 'refuse',
    *find(config) {
      for (const { path, name, value } of sysctlsOf(config))
        if (numeric.test(name) && !/^-?(0x[0-9a-f]+|\d+)(\s+-?\d+)*$/i.test(value))
          yield {
            document: config.main,
            path,
            sentence: `${name} takes whole numbers, not ${quoted(value)}, so it keeps its value and Talos repeats the error`,
          }
    },
  },
]
