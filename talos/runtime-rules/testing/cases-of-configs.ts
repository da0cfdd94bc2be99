/** Patches that violate the rules of `component-configs.ts` and `services.ts`. */
import type { Cases } from './case.ts'

const cluster = (text: string): string => `cluster: {${text}}`
const kubelet = (text: string): string => `machine: {kubelet: {${text}}}`
const audit = (rules: string): string =>
  cluster(
    `apiServer: {auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [${rules}]}}`,
  )
const allocatable = (text: string): string => kubelet(`extraConfig: {${text}}`)
const pods = (...texts: readonly string[]): string => `machine: {pods: [${texts.join(', ')}]}`
const pod = (metadata: string): string => `{apiVersion: v1, kind: Pod, metadata: {${metadata}}}`
const ephemeral = (text: string): string =>
  `apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nprovisioning: {${text}}\n`
const udev = (rule: string): string => `machine: {udev: {rules: [${JSON.stringify(rule)}]}}`
const logs = (endpoint: string): string =>
  `machine: {logging: {destinations: [{endpoint: "${endpoint}", format: json_lines}]}}`

const mount = (source: string, destination: string): string =>
  kubelet(
    `extraMounts: [{source: "${source}", destination: "${destination}", type: bind, options: [bind, rw]}]`,
  )

export const casesOfConfigs: Cases = {
  'kubelet-mount-destination': {
    bad: ['var/x', './x', 'mnt'].map((to) => mount('/var/x', to)),
    good: [mount('/var/x', '/var/x')],
  },
  'audit-level': {
    bad: ['{level: All}', '{level: metadata}', '{level: None}, {verbs: [get]}'].map(audit),
    good: ['{level: Metadata}, {level: RequestResponse}'].map(audit),
  },
  'component-file': {
    bad: [
      'apiServer: {extraArgs: {oidc-ca-file: /var/oidc/ca.pem}}',
      'apiServer: {extraArgs: {admission-control-config-file: /x.yaml}}',
      'controllerManager: {extraArgs: {root-ca-file: /opt/ca.pem}}',
    ].map(cluster),
    good: [
      'apiServer: {extraArgs: {oidc-ca-file: /var/oidc/ca.pem}, extraVolumes: [{hostPath: /var/oidc, mountPath: /var/oidc/, readonly: true}]}',
      'apiServer: {extraArgs: {audit-policy-file: /system/config/kubernetes/kube-apiserver/auditpolicy.yaml}}',
    ].map(cluster),
  },
  'kubelet-reserved-cgroup': {
    bad: [
      'enforceNodeAllocatable: [pods, kube-reserved]',
      'enforceNodeAllocatable: [system-reserved]',
      'enforceNodeAllocatable: [kube-reserved-compressible]',
      'enforceNodeAllocatable: [pods, kube-reserved], kubeReservedCgroup: /podruntime',
      'cpuCFSQuota: true}, extraArgs: {enforce-node-allocatable: "pods,system-reserved"',
    ].map(allocatable),
    good: [
      'enforceNodeAllocatable: [pods]',
      'enforceNodeAllocatable: [pods, kube-reserved], kubeReservedCgroup: /podruntime, kubeReserved: {cpu: 50m}',
      'enforceNodeAllocatable: [system-reserved]}, extraArgs: {system-reserved-cgroup: /system',
    ].map(allocatable),
  },
  'kubelet-cgroup': {
    bad: [
      'enforceNodeAllocatable: [pods, system-reserved], systemReservedCgroup: /system.slice',
      'enforceNodeAllocatable: [kube-reserved-compressible], kubeReservedCgroup: /system.slice/kubelet.service, kubeReserved: {cpu: 50m}',
      'enforceNodeAllocatable: [system-reserved]}, extraArgs: {system-reserved-cgroup: system.slice',
      'maxPods: 100}, extraArgs: {cgroup-root: /kubepods.slice',
    ].map(allocatable),
    good: [
      'enforceNodeAllocatable: [pods], systemReservedCgroup: /system.slice',
      'cgroupsPerQOS: false, enforceNodeAllocatable: [none]}, extraArgs: {cgroup-root: /a.slice',
      'enforceNodeAllocatable: [pods, system-reserved], systemReservedCgroup: /system',
    ].map(allocatable),
  },
  'kubelet-cgroup-unknown': {
    bad: [
      'enforceNodeAllocatable: [pods, system-reserved], systemReservedCgroup: /system-reserved',
      'enforceNodeAllocatable: [kube-reserved], kubeReservedCgroup: runtime, kubeReserved: {cpu: 50m}',
      'maxPods: 100}, extraArgs: {cgroup-root: /pods',
    ].map(allocatable),
    good: [
      'enforceNodeAllocatable: [pods, system-reserved], systemReservedCgroup: /system/runtime',
      'enforceNodeAllocatable: [system-reserved], systemReservedCgroup: podruntime',
      'enforceNodeAllocatable: [system-reserved], systemReservedCgroup: /system.slice',
      'maxPods: 100}, extraArgs: {cgroup-root: /',
    ].map(allocatable),
  },
  'node-name': {
    bad: ['foo', 'node-1.example.org', '10.0.0.5'].map((name) =>
      kubelet(`extraArgs: {hostname-override: "${name}"}`),
    ),
    good: [kubelet('extraArgs: {v: "4"}')],
  },
  'node-name-with-domain': {
    bad: ['', ', image: "ghcr.io/siderolabs/kubelet:v1.36.3"', ', clusterDNS: [10.96.0.10]'].map(
      (more) => kubelet(`registerWithFQDN: true${more}`),
    ),
    good: [kubelet('registerWithFQDN: false')],
  },
  'serving-certificate': {
    bad: [
      'extraArgs: {rotate-server-certificates: true}',
      'extraArgs: {rotate-server-certificates: "true"}',
      'extraArgs: {rotate-server-certificates: ["true"]}',
      'extraConfig: {serverTLSBootstrap: true}',
    ].map(kubelet),
    good: [
      kubelet('extraArgs: {rotate-server-certificates: false}'),
      ...[
        'extraManifests: ["https://example.org/kubelet-serving-cert-approver/ha-install.yaml"]',
        'inlineManifests: [{name: csr, contents: "kind: Deployment, name: kubelet-csr-approver"}]',
      ].map(
        (more) => `${kubelet('extraArgs: {rotate-server-certificates: true}')}\n${cluster(more)}`,
      ),
    ],
  },
  'static-pod-name': {
    bad: [
      pods(pod('')),
      pods(pod('name: a'), pod('name: a, namespace: default')),
      pods('{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}'),
    ],
    good: [pods(pod('name: a'), pod('name: a, namespace: kube-system'))],
  },
  'logging-endpoint': {
    bad: ['tcp://10.0.0.9', 'https://logs.example.org:443', 'tcp://[fd00::1]'].map(logs),
    good: ['udp://127.0.0.1:12345/', 'tcp://[fd00::1]:6514', 'tcp://logs:6514'].map(logs),
  },
  'udev-rule': {
    bad: ['SUBSYSTEM=="drm", MODE="0666', 'SUBSYSTEM=="drm" MODE="0666"', 'drm: MODE="0666"'].map(
      udev,
    ),
    good: [
      'SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="44", MODE="0660"',
      '# a comment',
      'ACTION=="add", ATTR{queue/scheduler}="none", ENV{X}+="a \\" b"',
    ].map(udev),
  },
  'cluster-dns-address': {
    bad: ['10.43.0.10', '1.1.1.1', 'fd00::a'].map((one) => kubelet(`clusterDNS: ["${one}"]`)),
    good: ['10.96.0.10', '169.254.20.10'].map((one) => kubelet(`clusterDNS: ["${one}"]`)),
  },
  'ephemeral-size': {
    bad: ['maxSize: 1GiB', 'maxSize: 1500MB', 'maxSize: 512MiB, grow: true'].map(ephemeral),
    good: ['maxSize: 40GiB', 'minSize: 1GiB, maxSize: 1GiB'].map(ephemeral),
  },
}
