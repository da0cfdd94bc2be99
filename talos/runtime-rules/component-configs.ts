/** Configurations of Kubernetes's components that they refuse when they start, and static pods. */
import type { Report } from '../config/report.ts'
import { reserved } from './limits/kubelet.ts'
import { lastOf, settingOf, settingText, settingTexts } from './limits/values.ts'
import { quoted, type RuntimeRule } from './rule.ts'

const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse']
const components = [
  { section: 'apiServer', name: 'The API server' },
  { section: 'controllerManager', name: 'The controller manager' },
  { section: 'scheduler', name: 'The scheduler' },
] as const
/** Folders that Talos gives to the static pods of control planes, or that are in their images. */
const givenFolders = ['/system/', '/etc/ssl/', '/etc/kubernetes/', '/var/log/audit/', '/usr/share/']

/** Talos's cgroups at the top, and that of pods (`pkg/machinery/constants`, Cgroup…). */
const talosCgroups = new Set(['init', 'system', 'podruntime', 'kubepods'])

const hasSetting = (main: Report, field: string): boolean => settingOf(main, field) !== undefined

/** What the kubelet holds to its reservation, with the field of its cgroup. */
function* enforcedCgroups(main: Report) {
  for (const { path, text } of settingTexts(main, 'enforceNodeAllocatable')) {
    const what = /^(kube|system)-reserved(?:-compressible)?$/.exec(text)?.[1]
    if (what !== undefined) yield { path, text, field: `${what}ReservedCgroup` }
  }
}

/** Cgroups that must exist when the kubelet starts. Talos sets the field cgroupRoot itself. */
function cgroupsOf(main: Report): { path: readonly string[]; name: string }[] {
  const root = ['machine', 'kubelet', 'extraArgs', 'cgroup-root']
  const isRootRead = main.has(...root) && settingText(main, 'cgroupsPerQOS') !== 'false'
  const paths = new Map(
    [...enforcedCgroups(main)]
      .map(({ field }) => settingOf(main, field))
      .filter((path) => path !== undefined)
      .map((path) => [path.join(), path]),
  )
  return [...paths.values(), ...(isRootRead ? [root] : [])].map((path) => ({
    path,
    name: lastOf(main, path),
  }))
}

export const componentConfigRules: readonly RuntimeRule[] = [
  {
    id: 'audit-level',
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/apis/audit/validation/validation.go, validateLevel; pkg/audit/policy/reader.go',
    level: 'refuse',
    *find({ main }) {
      for (const { path } of main.items('cluster', 'apiServer', 'auditPolicy', 'rules')) {
        const level = main.text(...path, 'level')
        if (!auditLevels.includes(level))
          yield {
            document: main,
            path: [...path, 'level'],
            sentence: `${quoted(level)} is not a level of an audit rule (${auditLevels.join(', ')}), so the API server does not start`,
          }
      }
    },
  },
  {
    id: 'component-file',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/control_plane_static_pod.go: a static pod sees only its own folders and extraVolumes',
    level: 'warn',
    *find({ main }) {
      for (const { section, name } of components) {
        const mounts = main
          .items('cluster', section, 'extraVolumes')
          .map(({ path }) => `${main.text(...path, 'mountPath').replace(/\/$/, '')}/`)
        for (const { path, key } of main.entries('cluster', section, 'extraArgs')) {
          const file = lastOf(main, path)
          const isFile = key.endsWith('-file') && file.startsWith('/')
          if (
            isFile &&
            ![...givenFolders, ...mounts].some((folder) => `${file}/`.startsWith(folder))
          )
            yield {
              document: main,
              path,
              sentence: `${name} may not see ${file}, and does not start without it: mount its folder by extraVolumes`,
            }
        }
      }
    },
  },
  {
    id: 'kubelet-reserved-cgroup',
    source:
      'Kubernetes pkg/kubelet/apis/config/validation/validation.go: "kubeReservedCgroup (--kube-reserved-cgroup) must be specified"; pkg/kubelet/cm/node_container_manager_linux.go, enforceExistingCgroup: "cgroup is not configured properly" without amounts',
    level: 'refuse',
    *find({ main }) {
      for (const { path, text, field } of enforcedCgroups(main)) {
        // Talos reserves amounts for the system.
        const needed = !hasSetting(main, field)
          ? field
          : text.startsWith('kube-') && reserved(main, 'kube').length === 0
            ? 'kubeReserved'
            : null
        if (needed !== null)
          yield {
            document: main,
            path,
            sentence: `The kubelet does not start with ${text} in enforceNodeAllocatable and without ${needed}`,
          }
      }
    },
  },
  {
    id: 'kubelet-cgroup',
    source:
      'Kubernetes pkg/kubelet/cm/node_container_manager_linux.go, enforceExistingCgroup, and container_manager_linux.go for cgroup-root: the cgroup must exist; Talos pkg/machinery/constants, Cgroup…: it has no slices of systemd',
    level: 'refuse',
    *find({ main }) {
      for (const { path, name } of cgroupsOf(main))
        if (/\.slice(?:\/|$)/.test(name))
          yield {
            document: main,
            path,
            sentence: `Talos has no cgroup ${quoted(name)}, because it runs without systemd, so the kubelet does not start: Talos’s own are /system and /podruntime`,
          }
    },
  },
  {
    id: 'kubelet-cgroup-unknown',
    source:
      'Kubernetes pkg/kubelet/cm/node_container_manager_linux.go, enforceExistingCgroup: the cgroup must exist; Talos pkg/machinery/constants, Cgroup…',
    level: 'warn',
    *find({ main }) {
      for (const { path, name } of cgroupsOf(main)) {
        const first = name.replace(/^\//, '').split('/', 1)[0]!
        if (first !== '' && !/\.slice(?:\/|$)/.test(name) && !talosCgroups.has(first))
          yield {
            document: main,
            path,
            sentence: `Talos is not known to have a cgroup ${quoted(name)}, and without it the kubelet does not start: Talos’s own are /system and /podruntime`,
          }
      }
    },
  },
  {
    id: 'node-name',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/kubelet_spec.go and nodename.go: the node has this name; Steelyard finds a node by the name of its server',
    level: 'refuse',
    *find({ main }) {
      const path = ['machine', 'kubelet', 'extraArgs', 'hostname-override']
      if (main.has(...path))
        yield {
          document: main,
          path,
          sentence:
            'With hostname-override the node has another name than its server, and Steelyard waits for it in vain. Rename the server instead, before it joins',
        }
    },
  },
  {
    id: 'node-name-with-domain',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/nodename.go: with a domain name, which DHCP may give, the node is named host.domain',
    level: 'warn',
    *find({ main }) {
      const path = ['machine', 'kubelet', 'registerWithFQDN']
      if (main.flag(...path))
        yield {
          document: main,
          path,
          sentence:
            'If the server gets a domain name, also by DHCP, its node has another name than the server, and Steelyard waits for it in vain',
        }
    },
  },
  {
    id: 'serving-certificate',
    source:
      'Kubernetes, "TLS bootstrapping": requests of kubernetes.io/kubelet-serving are never approved automatically; siderolabs/talos#6736 and #7317: without the certificate Talos sees no static pods',
    level: 'warn',
    *find({ main }) {
      const kubelet = ['machine', 'kubelet']
      const ways = [
        [...kubelet, 'extraArgs', 'rotate-server-certificates'],
        [...kubelet, 'extraConfig', 'serverTLSBootstrap'],
      ]
      const hasApprover = [
        ...main.texts('cluster', 'extraManifests').map(({ text }) => text),
        ...main
          .items('cluster', 'inlineManifests')
          .map(({ path }) => main.text(...path, 'contents')),
      ].some((text) => /approver/i.test(text))
      for (const path of ways)
        if (!hasApprover && lastOf(main, path) === 'true')
          yield {
            document: main,
            path,
            sentence:
              'Kubernetes does not approve the certificate that the kubelet then asks for: run an approver, such as kubelet-serving-cert-approver, in the cluster first. Without it, logs, exec and metrics of the pods fail, and a control plane may not come up after a restart',
          }
    },
  },
  {
    id: 'static-pod-name',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/static_pod_config.go: "name is missing in static pod metadata" stops all static pods of the configuration',
    level: 'refuse',
    *find({ main }) {
      const seen = new Set<string>()
      for (const { path } of main.items('machine', 'pods')) {
        const name = main.text(...path, 'metadata', 'name')
        const key = `${main.text(...path, 'metadata', 'namespace') || 'default'}/${name}`
        const problem =
          name === ''
            ? 'A static pod needs metadata.name: without it Talos starts none of machine.pods'
            : main.text(...path, 'kind') !== 'Pod' || main.text(...path, 'apiVersion') !== 'v1'
              ? `The static pod ${name} needs apiVersion: v1 and kind: Pod`
              : seen.has(key)
                ? `The static pod ${key} is there twice, so Talos starts only one of them`
                : null
        if (problem !== null) yield { document: main, path, sentence: problem }
        seen.add(key)
      }
    },
  },
]
