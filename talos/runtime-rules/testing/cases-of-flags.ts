/** Patches that violate the rules of arguments, of amounts of pods and of images. */
import type { Cases } from './case.ts'

const args = (section: string, text: string): string =>
  `cluster: {${section}: {extraArgs: {${text}}}}`

const document = (kind: string, fields: string): string =>
  `apiVersion: v1alpha1\nkind: ${kind}\n${fields}\n`
const resources = (section: string, text: string): string =>
  `cluster: {${section}: {resources: {${text}}}}`
const pod = (text: string): string =>
  `machine: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: b, image: c, resources: {${text}}}]}}]}`
const bothFamilies = (text: string): string =>
  `cluster: {network: {podSubnets: [10.244.0.0/16, "fd00::/56"]}, controllerManager: {extraArgs: {${text}}}}`
const images = (rules: string): string => document('ImageVerificationConfig', `rules: [${rules}]`)

export const casesOfFlags: Cases = {
  'component-argument-value': {
    bad: [
      args('apiServer', 'authorization-mode: "Node,RBAC,Webhok"'),
      args('apiServer', 'tls-min-version: "1.2"'),
      args('apiServer', 'event-ttl: "60"'),
      args('apiServer', 'audit-log-maxage: 30d'),
      args('controllerManager', 'bind-address: "0.0.0.0:10257"'),
      args('controllerManager', 'node-monitor-grace-period: 40'),
      args('etcd', 'quota-backend-bytes: 8GB'),
      args('etcd', 'listen-metrics-urls: "0.0.0.0:2381"'),
      args('etcd', 'auto-compaction-retention: 8 hours'),
      args('etcd', 'auto-compaction-mode: periodicaly'),
      'machine: {kubelet: {extraArgs: {max-pods: many}}}',
      args('proxy', 'proxy-mode: ipvsx'),
      args('apiServer', 'runtime-config: "batch/v1=yes"'),
      args('apiServer', 'runtime-config: "batch/v1,v1=true"'),
      args('apiServer', 'runtime-config: api/all'),
    ],
    good: [
      args('apiServer', 'authorization-mode: "Node, RBAC", event-ttl: 1h30m, profiling: "false"'),
      args('apiServer', 'runtime-config: "batch/v2alpha1=true,apps/v1/deployments=false,a.io/v1"'),
      args('apiServer', 'runtime-config: "api/beta=true"'),
      args('apiServer', 'runtime-config: "batch/v1=true,"'),
      args('apiServer', 'runtime-config: ""'),
      args('controllerManager', 'bind-address: "::", terminated-pod-gc-threshold: 100'),
      args('etcd', 'auto-compaction-retention: "8", listen-metrics-urls: "http://0.0.0.0:2381"'),
      args('etcd', 'auto-compaction-retention: 8h, quota-backend-bytes: "8589934592"'),
      'machine: {kubelet: {extraArgs: {max-pods: 250, rotate-server-certificates: true}}}',
    ],
  },
  'authentication-twice': {
    bad: ['oidc-issuer-url: "https://a.example.org"', 'oidc-client-id: k', 'oidc-ca-file: /x'].map(
      (one) => args('apiServer', `${one}, authentication-config: /etc/kubernetes/a.yaml`),
    ),
    good: [args('apiServer', 'authentication-config: /etc/kubernetes/a.yaml')],
  },
  'sysctl-of-vlan': {
    bad: [
      'net.ipv4.conf.eth0.100.rp_filter',
      'net.ipv6.conf.bond0.4000.accept_ra',
      'net.ipv4.neigh.eno1.7.base_reachable_time_ms',
    ].map((key) => `machine: {sysctls: {${key}: "0"}}`),
    good: ['net/ipv4/conf/eth0.100/rp_filter', 'net.ipv4.conf.vlan100.rp_filter'].map(
      (key) => `machine: {sysctls: {${key}: "0"}}`,
    ),
  },
  'component-argument-since-1.14': {
    bad: [
      args('apiServer', 'tls-min-version: VersionTLS12'),
      args('apiServer', 'tls-min-version: VersionTLS13'),
      args('etcd', 'feature-gates: "StopGRPCServiceOnDefrag=true"'),
      args('etcd', 'watch-progress-notify-interval: 10s'),
      args('etcd', 'tls-min-version: TLS1.2'),
      args('etcd', 'listen-client-http-urls: ["http://10.0.0.1:2390"]'),
      document('KubeAPIServerConfig', 'extraArgs: {tls-min-version: VersionTLS12}'),
      document('KubeProxyConfig', 'extraArgs: {config: /etc/a.yaml}'),
    ],
    good: [
      args('controllerManager', 'tls-min-version: VersionTLS12'),
      args('apiServer', 'authentication-config: /etc/a.yaml'),
      args('apiServer', 'feature-gates: "A=true"'),
      args('proxy', 'config: /etc/a.yaml'),
    ],
  },
  'limit-below-request': {
    bad: [
      resources('apiServer', 'limits: {memory: 256Mi}'),
      resources('apiServer', 'limits: {memory: 512m}'),
      resources('apiServer', 'limits: {cpu: 100m}'),
      resources('controllerManager', 'limits: {memory: 255Mi}'),
      resources('scheduler', 'limits: {memory: "0"}'),
      resources('scheduler', 'requests: {cpu: "2"}, limits: {cpu: "1"}'),
      document('KubeProxyConfig', 'resources: {limits: {memory: 32Mi}}'),
      document('KubeFlannelCNIConfig', 'resources: {limits: {cpu: 50m}}'),
      pod('requests: {memory: 1Gi}, limits: {memory: 512Mi}'),
    ],
    good: [
      resources('apiServer', 'limits: {memory: 512Mi, cpu: 200m}'),
      resources('apiServer', 'requests: {memory: 128Mi}, limits: {memory: 256Mi}'),
      resources('apiServer', 'requests: {memory: 2Gi}, limits: {cpu: "1"}'),
      resources('scheduler', 'limits: {memory: 64Mi, cpu: 10m}'),
      document('KubeFlannelCNIConfig', 'resources: {limits: {memory: 50Mi}}'),
      pod('limits: {memory: 16Mi}'),
      pod('requests: {cpu: 1}, limits: {cpu: 1}'),
    ],
  },
  'memory-in-thousandths': {
    bad: [
      resources('apiServer', 'requests: {memory: 512m}'),
      resources('scheduler', 'limits: {memory: 128m}'),
      pod('requests: {memory: 64m}'),
    ],
    good: [
      resources('apiServer', 'requests: {memory: 512M, cpu: 500m}'),
      pod('limits: {memory: 64Mi, cpu: 100m}'),
    ],
  },
  'node-network-family': {
    bad: [
      bothFamilies('node-cidr-mask-size: "24"'),
      bothFamilies('node-cidr-mask-size: "24", node-cidr-mask-size-ipv6: "72"'),
      args('controllerManager', 'node-cidr-mask-size: "24", node-cidr-mask-size-ipv4: "24"'),
      args('controllerManager', 'node-cidr-mask-size-ipv6: "64"'),
      args(
        'controllerManager',
        'node-cidr-mask-size: "24", cluster-cidr: "10.244.0.0/16,fd00::/56"',
      ),
    ],
    good: [
      bothFamilies('node-cidr-mask-size-ipv4: "25", node-cidr-mask-size-ipv6: "72"'),
      bothFamilies('node-cidr-mask-size: "0"'),
      bothFamilies('node-cidr-mask-size: "24", allocate-node-cidrs: "false"'),
      bothFamilies('node-cidr-mask-size: "24", controllers: "*,-nodeipam"'),
      args('controllerManager', 'node-cidr-mask-size: "24"'),
    ],
  },
  'node-network-of-talos': {
    bad: ['"25"', '"24"', '["26"]'].map((size) =>
      args('controllerManager', `node-cidr-mask-size: ${size}`),
    ),
    good: [
      args('controllerManager', 'node-cidr-mask-size-ipv4: "25"'),
      args('controllerManager', 'node-cidr-mask-size: "25", allocate-node-cidrs: "false"'),
      bothFamilies('node-cidr-mask-size: "25"'),
    ],
  },
  'needed-image-denied': {
    bad: [
      images('{image: "*", deny: true}'),
      images('{image: "registry.k8s.io/*", deny: true}'),
      images('{image: "ghcr.io/siderolabs/kubelet", deny: true}'),
      images('{image: "registry.k8s.io/kube-*", skip: true}, {image: "*", deny: true}'),
      images('{image: "factory.talos.dev/*", deny: true}'),
    ],
    good: [
      images('{image: "docker.io/*", deny: true}'),
      images(
        '{image: "registry.k8s.io/*", skip: true}, {image: "ghcr.io/siderolabs/*", skip: true}, {image: "factory.talos.dev/*", skip: true}, {image: "*", deny: true}',
      ),
      images('{image: "*", skip: true}, {image: "*/x", deny: true}'),
    ],
  },
  'image-rule-without-effect': {
    bad: [
      images('{image: "registry.k8s.io/*", deny: true}, {image: registry.k8s.io/etcd, skip: true}'),
      images('{image: "*", skip: true}, {image: "docker.io/*", deny: true}'),
      images('{image: "a*b", skip: true}, {image: "a*c*b", deny: true}'),
    ],
    good: [
      images('{image: registry.k8s.io/etcd, skip: true}, {image: "registry.k8s.io/*", deny: true}'),
      images('{image: "a.io/*/x", skip: true}, {image: "a.io/*", deny: true}'),
    ],
  },
  'part-of-control-plane-off': {
    bad: [
      'machine: {controlPlane: {scheduler: {disabled: true}}}',
      'machine: {controlPlane: {controllerManager: {disabled: true}}}',
      document('KubeSchedulerConfig', 'enabled: false'),
      document('KubeControllerManagerConfig', 'enabled: false'),
    ],
    good: [
      'machine: {controlPlane: {scheduler: {disabled: false}}}',
      document('KubeSchedulerConfig', 'enabled: true'),
      document('KubeSchedulerConfig', 'extraArgs: {v: "2"}'),
    ],
  },
}
