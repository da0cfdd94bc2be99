/** Documents of Kubernetes since Talos 1.14 (Talos `pkg/machinery/config/types/k8s`). */
import { resources } from './cluster.ts'
import type { Documents } from './documents.ts'
import { environment } from './machine.ts'
import * as t from './shape.ts'

const since = '1.14'
const controlPlaneOnly = true
const name = t.always(t.text('Name'))
const image = (of: string) => t.always(t.text(`Image of ${of}; its tag is the Kubernetes version`))
const podResources = t.inPlace(resources)
/** A certificate and its key, both in PEM: not in base64, unlike those of the main document. */
const issuingCA = t.object(
  { cert: t.text('Certificate in PEM'), key: t.secret('Private key in PEM') },
  'Authority that issues',
)
const acceptedCAs = t.texts('Certificates in PEM of further authorities that are trusted')
const replacedBy = (sentence: string) => ({ ...t.free(sentence), replace: true })

export const kubernetesDocuments: Documents = {
  KubeClusterConfig: {
    about: 'Name of the cluster and where its Kubernetes API is',
    since,
    fields: {
      clusterName: t.always(t.text()),
      endpoint: t.always(t.text('URL of the Kubernetes API')),
    },
  },
  KubeNodeConfig: {
    about: 'The node that this server is in Kubernetes',
    since,
    fields: {
      skipNodeRegistration: t.flag('Run the kubelet without joining a cluster'),
      registerWithFQDN: t.flag('Use the fully qualified host name as the node’s name'),
      nodeIP: t.always(
        t.inPlace(
          t.object(
            {
              validSubnets: t.texts(
                'Networks that the node’s address is chosen from; with ! in front: not from it',
              ),
            },
            'Which address the node announces',
          ),
        ),
      ),
      labels: t.map(t.text(), 'All labels of the node, also those of a control plane'),
      annotations: t.map(t.text(), 'Annotations of the node'),
      taints: t.map(t.text(), 'All taints of the node: key: value:effect'),
    },
  },
  KubeletConfig: {
    about: 'Kubernetes’ agent on this server',
    since,
    fields: {
      image: image('the kubelet'),
      config: t.always(
        t.sensitive(t.free('Fields of KubeletConfiguration that Talos doesn’t set itself')),
      ),
      extraArgs: t.argumentsOf('Further arguments of the kubelet'),
      clusterDNS: t.texts('Addresses of the cluster’s DNS service'),
      defaultRuntimeSeccompProfileEnabled: t.flag(
        'Containers get the runtime’s own seccomp profile unless they ask for another',
      ),
    },
  },
  KubeCredentialProviderConfig: {
    about: 'Where the kubelet gets credentials for images',
    since,
    fields: {
      configuration: t.always(
        t.sensitive(replacedBy('CredentialProviderConfig of Kubernetes; a patch replaces it')),
      ),
    },
  },
  KubeStaticPodConfig: {
    about: 'A static pod',
    since,
    fields: {
      name,
      pod: t.always(t.sensitive(replacedBy('Pod of Kubernetes; a patch replaces it'))),
    },
  },
  KubeNetworkConfig: {
    about: 'Networks inside the cluster',
    since,
    fields: {
      dnsDomain: t.always(t.text('Domain of services: cluster.local')),
      podSubnets: t.always(t.replaced(t.text(), 'Network of the pods; a patch replaces it')),
      serviceSubnets: t.always(
        t.replaced(t.text(), 'Network of the services; a patch replaces it'),
      ),
      nodeCIDRMaskSizeIPv4: t.integer('Length of each node’s part of the pod network; 24'),
      nodeCIDRMaskSizeIPv6: t.integer('Length of each node’s part of the pod network; 64'),
    },
  },
  KubeAPIServerCAConfig: {
    about: 'Authority of the Kubernetes API; workers only accept it',
    since,
    fields: { issuingCA, acceptedCAs },
  },
  KubePrismConfig: {
    about: 'A way to the Kubernetes API inside each server that outlives the endpoint',
    since,
    fields: {
      port: t.always(t.integer('Port on localhost')),
      tlsServerName: t.text('Name in the API server’s certificate'),
    },
  },
  KubeAggregatorCAConfig: {
    about: 'Authority of the front proxy',
    since,
    controlPlaneOnly,
    fields: { issuingCA, acceptedCAs },
  },
  KubeAdmissionControlConfig: {
    about: 'An admission plugin',
    since,
    controlPlaneOnly,
    fields: { name, configuration: t.always(t.free('Configuration of the plugin')) },
  },
  KubeAuditPolicyConfig: {
    about: 'What the audit log keeps',
    since,
    controlPlaneOnly,
    fields: { configuration: t.always(replacedBy('Policy of Kubernetes; a patch replaces it')) },
  },
  KubeAuthenticationConfig: {
    about: 'Who may reach the Kubernetes API',
    since,
    controlPlaneOnly,
    fields: {
      configuration: t.always(
        replacedBy('AuthenticationConfiguration of Kubernetes; a patch replaces it'),
      ),
    },
  },
  KubeAuthorizerConfig: {
    about: 'One of the authorizers of the Kubernetes API, in their order',
    since,
    controlPlaneOnly,
    fields: {
      name,
      type: t.always(t.text('Node, RBAC or Webhook')),
      webhook: t.free('Only of a webhook'),
    },
  },
  KubeEtcdEncryptionConfig: {
    about: 'How Kubernetes encrypts objects in etcd',
    since,
    controlPlaneOnly,
    fields: {
      config: t.always({
        ...t.free('EncryptionConfiguration of Kubernetes'),
        // Talos masks these keys too (`redactEncryptionConfigObject`).
        secretKeys: ['secret'],
      }),
    },
  },
  KubeServiceAccountConfig: {
    about: 'Tokens of service accounts',
    since,
    controlPlaneOnly,
    fields: {
      issuer: t.always(
        t.inPlace(
          t.object({
            privateKey: t.always(t.secret('Signs the tokens; in PEM')),
            issuerURL: t.always(t.text('URL of the issuer')),
          }),
        ),
      ),
      accepted: t.inPlace(
        t.object(
          {
            publicKeys: t.texts('In PEM'),
            issuers: t.texts('URLs'),
            audiences: t.texts(),
          },
          'What is trusted besides the issuer',
        ),
      ),
    },
  },
  KubeAPIServerConfig: {
    about: 'Kubernetes API server',
    since,
    controlPlaneOnly,
    fields: {
      image: image('the API server'),
      extraArgs: t.argumentsOf('Further arguments'),
      env: environment(),
      resources: podResources,
      apiPort: t.optionalInteger('Port on the server'),
      certExtraSANs: t.texts('Further names and addresses of the Kubernetes API'),
      startupProbes: t.flag(),
    },
  },
  KubeControllerManagerConfig: {
    about: 'Controller manager of Kubernetes',
    since,
    controlPlaneOnly,
    fields: {
      enabled: t.flag(),
      image: image('the controller manager'),
      extraArgs: t.argumentsOf('Further arguments'),
      env: environment(),
      resources: podResources,
    },
  },
  KubeSchedulerConfig: {
    about: 'Scheduler of Kubernetes',
    since,
    controlPlaneOnly,
    fields: {
      enabled: t.flag(),
      image: image('the scheduler'),
      config: t.always(t.free('Fields of KubeSchedulerConfiguration')),
      extraArgs: t.argumentsOf('Further arguments'),
      env: environment(),
      resources: podResources,
    },
  },
  KubeProxyConfig: {
    about: 'kube-proxy',
    since,
    controlPlaneOnly,
    fields: {
      enabled: t.flag('Off for networks that do without kube-proxy'),
      image: t.text('Image of kube-proxy; its tag is the Kubernetes version'),
      mode: t.text('nftables, iptables or ipvs'),
      config: t.always(t.free('Fields of KubeProxyConfiguration')),
      extraArgs: t.argumentsOf('Better in config'),
      resources: podResources,
    },
  },
  KubeFlannelCNIConfig: {
    about: 'Talos’s own network of the pods; without it, the choice is yours',
    since,
    controlPlaneOnly,
    fields: {
      backendType: t.always(t.text('vxlan, for example')),
      backendPort: { ...t.integer(), max: 65_535 },
      backendMTU: { ...t.integer(), max: 4_294_967_295 },
      backendExtraConfig: t.free(),
      resources: podResources,
      extraArgs: t.texts(),
      kubeNetworkPoliciesEnabled: t.flag(),
    },
  },
  KubeCoreDNSConfig: {
    about: 'Name server of the cluster',
    since,
    controlPlaneOnly,
    fields: { enabled: t.flag(), image: t.text() },
  },
  KubeTalosAPIAccessConfig: {
    about: 'Talos’s API for pods',
    since,
    controlPlaneOnly,
    fields: {
      allowedRoles: t.texts('Talos roles that may be given'),
      allowedKubernetesNamespaces: t.texts('Namespaces that may ask'),
    },
  },
  KubeExternalManifestConfig: {
    about: 'A manifest from a URL that is applied when the cluster is made',
    since,
    fields: {
      name,
      headers: t.sensitive(t.map(t.text(), 'Headers of the request')),
      url: t.always(t.text('URL of http or https')),
    },
  },
  KubeInlineManifestConfig: {
    about: 'A manifest that is applied when the cluster is made',
    since,
    fields: { name, manifest: t.always(t.sensitive(t.text('YAML'), 'manifest')) },
  },
}
