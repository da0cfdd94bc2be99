/** Static pods, mounts, volumes and arguments that Kubernetes refuses, and harmful sysctls. */
import { type Report, textOf } from '../../config/report.ts'
import { removedFlags } from '../../kubernetes-removals.ts'
import { type Configuration, quoted, type RuntimeRule } from '../rule.ts'

const mounts = ['machine', 'kubelet', 'extraMounts'] as const

const components = [
  { section: ['machine', 'kubelet'], name: 'the kubelet', program: 'kubelet' },
  { section: ['cluster', 'apiServer'], name: 'the API server', program: 'kube-apiserver' },
  {
    section: ['cluster', 'controllerManager'],
    name: 'the controller manager',
    program: 'kube-controller-manager',
  },
  { section: ['cluster', 'scheduler'], name: 'the scheduler', program: 'kube-scheduler' },
] as const

/** Where Talos mounts its own folders into the static pods (`pkg/machinery/constants`). */
const ownFolders: Readonly<Record<string, readonly string[]>> = {
  apiServer: [
    '/system/secrets/kubernetes/kube-apiserver',
    '/system/config/kubernetes/kube-apiserver',
    '/var/log/audit/kube',
  ],
  controllerManager: ['/system/secrets/kubernetes/kube-controller-manager'],
  scheduler: [
    '/system/secrets/kubernetes/kube-scheduler',
    '/system/config/kubernetes/kube-scheduler',
  ],
}

/** 36 for 1.36.3: of the cluster, or of the kubelet's image; null if unknown. */
function minorOf({ main, kubernetesVersion }: Configuration): number | null {
  const text = kubernetesVersion ?? main.text('machine', 'kubelet', 'image').split(':').at(-1)
  const minor = /^v?1\.(\d+)/.exec(text ?? '')?.[1]
  return minor === undefined ? null : Number(minor)
}

/** A subdomain of RFC 1123 as Kubernetes checks it, which doesn't limit the length of a label. */
const subdomain = /^(?=.{1,253}$)[a-z0-9]+(?:(?:-+|\.)[a-z0-9]+)*$/

/** What is wrong with a static pod, or null. */
function podProblem(main: Report, path: readonly string[]): string | null {
  const name = main.text(...path, 'metadata', 'name')
  if (name !== '' && !subdomain.test(name))
    return `The name ${quoted(name)} of a static pod has other characters than lower-case letters, digits, dots and hyphens`
  const containers = main.items(...path, 'spec', 'containers')
  if (containers.length === 0) return `The static pod ${name} has no containers`
  const seen = new Set<string>()
  for (const { path: one } of containers) {
    const container = main.text(...one, 'name')
    if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(container))
      return `The container ${quoted(container)} of the static pod ${name} needs a name of lower-case letters, digits and hyphens`
    if (seen.has(container)) return `The static pod ${name} has two containers ${container}`
    seen.add(container)
    if (main.text(...one, 'image') === '')
      return `The container ${container} of the static pod ${name} has no image`
  }
  return null
}

const harmful: Readonly<Record<string, readonly [value: string, so: string]>> = {
  'kernel.modules_disabled': [
    '1',
    'no kernel module can be loaded any more, such as those of network plugins and storage',
  ],
  'net.bridge.bridge-nf-call-iptables': [
    '0',
    'pods of one server don’t reach Services through Flannel’s bridge',
  ],
  'net.bridge.bridge-nf-call-ip6tables': [
    '0',
    'pods of one server don’t reach Services by IPv6 through Flannel’s bridge',
  ],
}

export const nodeLimitRules: readonly RuntimeRule[] = [
  {
    id: 'static-pod-form',
    source:
      'Kubernetes pkg/kubelet/config/common.go, tryDecodeSinglePod, and pkg/apis/core/validation/validation.go, ValidatePodCreate: the kubelet leaves the pod out',
    level: 'refuse',
    *find({ main }) {
      for (const { path } of main.items('machine', 'pods')) {
        // Another rule tells of other kinds.
        const isPod = main.text(...path, 'kind') === 'Pod'
        const problem = isPod ? podProblem(main, path) : null
        if (problem !== null)
          yield { document: main, path, sentence: `${problem}, so the kubelet never starts it` }
      }
    },
  },
  {
    id: 'kubelet-mount-type',
    source:
      'OCI runtime-spec config.md, mounts: a folder needs the option bind or rbind; runc libcontainer/specconv, createLibcontainerMount; mount(2): ENODEV',
    level: 'refuse',
    *find({ main }) {
      for (const { path } of main.items(...mounts)) {
        const options = main.texts(...path, 'options').map(({ text }) => text)
        const isFolder = ['', 'none', 'bind'].includes(main.text(...path, 'type'))
        if (isFolder && !options.some((option) => option === 'bind' || option === 'rbind'))
          yield {
            document: main,
            path,
            sentence: `The mount of ${main.text(...path, 'source')} needs the option bind or rbind, such as options: [bind, rshared, rw], or the kubelet does not start`,
          }
      }
    },
  },
  {
    id: 'kubelet-mount-twice',
    source:
      'OCI runtime-spec config.md, mounts: "mounted in the listed order"; Talos appends the lists of several patches (pkg/machinery/config/merge)',
    level: 'warn',
    *find({ main }) {
      const seen = new Set<string>()
      for (const { path } of main.items(...mounts)) {
        const destination = main.text(...path, 'destination').replace(/(.)\/$/, '$1')
        if (seen.has(destination))
          yield {
            document: main,
            path: [...path, 'destination'],
            sentence: `${destination} is mounted twice, also by lists of several patches: the last mount hides the others`,
          }
        seen.add(destination)
      }
    },
  },
  {
    id: 'volume-of-talos',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/control_plane_static_pod.go has its own mounts; Kubernetes pkg/apis/core/validation/validation.go, ValidateVolumeMounts: "must be unique"',
    level: 'refuse',
    *find({ main }) {
      for (const [section, folders] of Object.entries(ownFolders))
        for (const { path } of main.items('cluster', section, 'extraVolumes')) {
          const mount = main.text(...path, 'mountPath')
          if (folders.includes(mount))
            yield {
              document: main,
              path: [...path, 'mountPath'],
              sentence: `Talos itself mounts ${mount} into this pod, and with a second mount the kubelet refuses the pod`,
            }
        }
    },
  },
  {
    id: 'removed-from-kubernetes',
    source:
      'Kubernetes CHANGELOG-1.*.md; cmd/kube-*/app: an unknown flag ends the program (spf13/pflag)',
    level: 'warn',
    *find(whole) {
      const { main } = whole
      const minor = minorOf(whole)
      for (const { section, name, program } of minor === null ? [] : components) {
        const flags = removedFlags(minor!, program)
        for (const { path: where, key } of main.entries(...section, 'extraArgs'))
          if (flags.has(key))
            yield {
              document: main,
              path: where,
              sentence: `${name.replace('the', 'The')} of Kubernetes 1.${minor} has no argument ${key} any more, and does not start with it: leave it out`,
            }
      }
    },
  },
  {
    id: 'sysctl-harmful',
    source:
      'Linux Documentation/admin-guide/sysctl/kernel.rst, modules_disabled; Kubernetes docs, "Network Plugin Requirements": net/bridge/bridge-nf-call-iptables is 1',
    level: 'warn',
    *find({ main, hasFlannel }) {
      for (const { path, key, node } of main.entries('machine', 'sysctls')) {
        const name = key.replaceAll('/', '.')
        // Network plugins without a bridge, such as Cilium, need no iptables there.
        if (name.startsWith('net.bridge.') && !hasFlannel) continue
        const [value, so] = harmful[name] ?? []
        if (value !== undefined && textOf(node).trim() === value)
          yield { document: main, path, sentence: `With ${key}: ${value}, ${so}` }
      }
    },
  },
]
