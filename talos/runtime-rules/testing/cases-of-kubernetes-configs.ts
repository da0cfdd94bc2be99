/** Like `cases.ts`, for the configurations that Talos passes on to Kubernetes's programs. */
import type { Cases } from './case.ts'

const kubelet = (config: string): string => `machine: {kubelet: {extraConfig: {${config}}}}`
const providers = (config: string): string =>
  `machine: {kubelet: {credentialProviderConfig: {${config}}}}`
const apiServer = (config: string): string => `cluster: {apiServer: {${config}}}`
const audit = (rules: string, more = ''): string =>
  apiServer(`auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [${rules}], ${more}}`)
const scheduler = (config: string): string => `cluster: {scheduler: {config: {${config}}}}`
const podSecurity = (config: string): string =>
  apiServer(`admissionControl: [{name: PodSecurity, configuration: {${config}}}]`)
/** One that a kubelet of this version runs. */
const ofKubelet = (version: string, config: string): string =>
  `machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:${version}", extraConfig: {${config}}}}`

const pods = (spec: string, version = 'v1.36.3'): string =>
  `machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:${version}"}, pods: [{apiVersion: v1, kind: Pod, metadata: {name: kube-vip}, spec: {${spec}}}]}`
const customization = (content: string): string =>
  `machine: {files: [{path: /etc/cri/conf.d/20-customization.part, op: create, content: ${JSON.stringify(content)}}]}`

const provider =
  'name: ecr, matchImages: ["*.ecr.example.org"], defaultCacheDuration: 12h, apiVersion: credentialprovider.kubelet.k8s.io/v1'
const providerHeader = 'apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig'
const schedulerVersion = 'apiVersion: kubescheduler.config.k8s.io'

export const casesOfKubernetesConfigs: Cases = {
  'kubernetes-config': {
    bad: [
      ...[
        'maxPods: "250"',
        'maxPod: 250',
        'featureGates: {GracefulNodeShutdown: "true"}',
        'shutdownGracePeriod: 60',
        'kubeReserved: {cpu: 1}',
        'evictionHard: {memory.available: 5}',
        'serializeImagePulls: "false"',
        'allowedUnsafeSysctls: net.core.somaxconn',
        'MaxPods: 250',
        'logging: {formatt: json}',
        'logging: {options: {json: {infoBufferSize: large}}}',
        'memorySwap: {behavior: LimitedSwap}',
        'crashLoopBackOff: {maxContainerRestartPeriod: 60}',
        'tracing: {endpoint: a.example.org, samplingRate: 100}',
        'userNamespaces: {idsPerPod: "65536"}',
        'registerWithTaints: [{key: dedicated, Value: storage, effect: NoSchedule}]',
        'reservedMemory: [{numaNode: "0", limits: {memory: 612Mi}}]',
        'logging.format: json',

        'maxPods: 4294967296',
        'port: -2147483649',
      ].map(kubelet),
      providers(`providers: [{${provider}}]`),
      providers(`${providerHeader}, providers: [{${provider}, args: get}]`),
      providers(`${providerHeader}, provider: [{${provider}}]`),
      providers(
        `apiVersion: kubelet.config.k8s.io/v2, kind: CredentialProviderConfig, providers: [{${provider}}]`,
      ),
      audit('{level: Metadata}', 'omitStage: [RequestReceived]'),
      audit('{level: Metadata, verb: [get]}'),
      audit('{level: None, resources: [{group: "", resource: [events]}]}'),
      audit('{level: None, omitManagedFields: "true"}'),
      apiServer('auditPolicy: {apiVersion: audit.k8s.io/v1beta1, kind: Policy, rules: []}'),
      ...[
        'profile: []',
        'profiles: [{schedulerName: a, pluginConfigs: []}]',
        'profiles: [{schedulerName: a, plugins: {filters: {}}}]',
        'profiles: [{schedulerName: a, plugins: {placementFeasible: {}}}]',
        'percentageOfPlacementsToScore: 50',
        'extenders: [{urlPrefix: "http://a", weight: heavy}]',
        `${schedulerVersion}/v1beta2, kind: KubeSchedulerConfiguration`,
        `${schedulerVersion}/v1beta3`,
        `${schedulerVersion}/v1, kind: Policy`,
      ].map(scheduler),
      podSecurity('exemption: {namespaces: [rook]}'),
      podSecurity('defaults: {enforced: baseline}'),
      ofKubelet('v1.35.8', 'defaultPodSysctls: {net.core.somaxconn: "1"}'),
    ],
    good: [
      ...[
        'maxPods: 250, featureGates: {A: true}, shutdownGracePeriod: 60s, kubeReserved: {cpu: "1"}',
        'evictionHard: {memory.available: 5%}, failSwapOn: false, memorySwap: {swapBehavior: LimitedSwap}',
        'imageMaximumGCAge: 168h, serverTLSBootstrap: true, clusterDNS: [10.96.0.10]',
        'logging: {format: json, flushFrequency: 5000000000, verbosity: 2, vmodule: [{filePattern: a, verbosity: 3}], options: {json: {infoBufferSize: "0"}}}',
        'crashLoopBackOff: {maxContainerRestartPeriod: 60s}, userNamespaces: {idsPerPod: 131072}',
        'tracing: {endpoint: "a.example.org:4317", samplingRatePerMillion: 100}, memorySwap: null',
        'reservedMemory: [{numaNode: 0, limits: {memory: 612Mi}}], staticPodURLHeader: {a: [b]}',
      ].map(kubelet),
      providers(
        `${providerHeader}, providers: [{${provider}, args: [get], env: [{name: A, value: b}]}]`,
      ),
      providers(
        `apiVersion: kubelet.config.k8s.io/v1beta1, kind: CredentialProviderConfig, providers: [{${provider}}]`,
      ),
      audit(
        '{level: None, users: [a], verbs: [watch], resources: [{group: "", resources: [endpoints], resourceNames: [b]}]}',
        'omitStages: [RequestReceived, Panic], omitManagedFields: true',
      ),
      ...[
        'profiles: [{schedulerName: default-scheduler, plugins: {score: {disabled: [{name: "*"}]}, multiPoint: {}}, pluginConfig: [{name: NodeResourcesFit, args: {}}]}]',
        'leaderElection: {leaderElect: true, leaseDuration: 15s}, percentageOfNodesToScore: 0, parallelism: 16',
        'profiles: [{plugins: {placementGenerate: {}, placementScore: {}}}]',
        `${schedulerVersion}/v1, kind: KubeSchedulerConfiguration`,
        'extenders: [{urlPrefix: "http://a", weight: 1, httpTimeout: 5s, managedResources: [{name: a.example.org/b, ignoredByScheduler: true}]}]',
      ].map(scheduler),
      podSecurity(
        'exemptions: {namespaces: [rook]}, defaults: {audit: baseline, audit-version: latest}',
      ),
      ofKubelet('v1.34.0', 'maxPods: 250'),
    ],
  },
  'static-pod-reference': {
    bad: [
      pods('serviceAccountName: kube-vip'),
      pods('volumes: [{name: a, secret: {secretName: b}}]'),
      pods('volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: t}}]}}]'),
      pods('imagePullSecrets: [{name: a}]'),
      pods('containers: [{name: a, image: b, envFrom: [{configMapRef: {name: c}}]}]'),
      pods(
        'containers: [{name: a, image: b, env: [{name: C, valueFrom: {secretKeyRef: {name: d, key: e}}}]}]',
      ),
    ],
    good: [
      pods(
        'hostNetwork: true, volumes: [{name: a, hostPath: {path: /b}}, {name: c, emptyDir: {}}]',
      ),
      pods('containers: [{name: a, image: b, env: [{name: C, value: d}]}]'),
    ],
  },
  'static-pod-reference-older': {
    bad: [
      'serviceAccountName: kube-vip',
      'volumes: [{name: a, configMap: {name: b}}]',
      'volumes: [{name: a, persistentVolumeClaim: {claimName: b}}]',
    ].map((spec) => pods(spec, 'v1.33.4')),
    good: [pods('hostNetwork: true', 'v1.33.4')],
  },
  unfilled: {
    bad: [
      'machine: {nodeAnnotations: {example.org/owner: "{{ owner }}"}}',
      'machine: {env: {TS_AUTHKEY: "${TS_AUTHKEY}"}}',
      'machine: {registries: {config: {ghcr.io: {auth: {username: a, password: "ENC[AES256_GCM,data:abcd,iv:efgh,tag:ijkl,type:str]"}}}}}',
    ],
    good: [
      'machine: {files: [{path: /var/a.sh, op: create, permissions: 493, content: "#!/bin/sh\\necho ${HOME}\\n"}]}',
      'machine: {install: {grubUseUKICmdline: false, extraKernelArgs: ["talos.config=https://a.example.org/?u=${uuid}"]}}',
      'machine: {nodeAnnotations: {a: "{}", b: "$HOME"}}',
    ],
  },
  'file-customization-plugin': {
    bad: [
      '[plugins."io.containerd.grpc.v1.cri"]\n  enable_unprivileged_ports = true',
      '[plugins."io.containerd.grpc.v1.cri".containerd]\n  default_runtime_name = "nvidia"',
      '[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "a/b:c"',
    ].map(customization),
    good: [
      '[plugins."io.containerd.cri.v1.runtime"]\n  enable_unprivileged_ports = true',
      '[plugins]\n  [plugins."io.containerd.cri.v1.images"]\n    discard_unpacked_layers = false',
    ].map(customization),
  },
  'kubernetes-config-older': {
    bad: [
      ofKubelet('v1.31.4', 'maxPod: 250'),
      ofKubelet('v1.30.0', 'maxPods: "250"'),
      `cluster: {scheduler: {image: "registry.k8s.io/kube-scheduler:v1.31.4", config: {profile: []}}}`,
    ],
    good: [ofKubelet('v1.31.4', 'maxPods: 250')],
  },
}
