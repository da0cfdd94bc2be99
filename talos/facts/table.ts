/**
 * The facts that Steelyard reads and writes in a machine's configuration, each with its homes. What
 * only one document tells, such as a host name, is in `patch.ts`.
 */
import {
  type Arguments,
  argumentsOf,
  documentAuthorities,
  encodedAuthorities,
  encodedKey,
  flag,
  flags,
  text,
  texts,
  unless,
} from './forms.ts'
import { encryptionKeys } from './encryption.ts'
import { type Fact, type Form, homeAt } from './home.ts'

const stays = <V>(path: string, form: Form<V>): Fact<V> => ({ main: homeAt('', path, form) })

/** @param form how the document writes the value, if it does so in another way */
const moved = <V>(
  path: string,
  form: Form<V>,
  kind: string,
  field: string,
  documentForm: Form<V> = form,
): Fact<V> => ({
  main: homeAt('', path, form),
  document: homeAt(kind, field, documentForm),
})

/** An image: `registry.k8s.io/kube-apiserver:v1.36.3`. */
const image = (path: string, kind: string, field = 'image') => moved(path, text, kind, field)
/** The arguments that a program gets in addition to Talos's own. */
const extraArguments = (path: string, kind: string): Fact<Arguments> =>
  moved(`${path}.extraArgs`, argumentsOf, kind, 'extraArgs')

/** Facts without secrets. Texts are null if they aren't set, lists are empty. */
export const facts = {
  /** `controlplane` or `worker`. */
  machineType: stays('machine.type', text),
  clusterName: moved('cluster.clusterName', text, 'KubeClusterConfig', 'clusterName'),
  /** URL of the Kubernetes API. */
  endpoint: moved('cluster.controlPlane.endpoint', text, 'KubeClusterConfig', 'endpoint'),
  podSubnets: moved('cluster.network.podSubnets', texts, 'KubeNetworkConfig', 'podSubnets'),
  serviceSubnets: moved(
    'cluster.network.serviceSubnets',
    texts,
    'KubeNetworkConfig',
    'serviceSubnets',
  ),
  /** Additional names in the certificate of Talos's API. */
  talosNames: stays('machine.certSANs', texts),
  /** Additional names in the certificate of the Kubernetes API. */
  apiServerNames: moved(
    'cluster.apiServer.certSANs',
    texts,
    'KubeAPIServerConfig',
    'certExtraSANs',
  ),
  isProxyDisabled: moved('cluster.proxy.disabled', flag, 'KubeProxyConfig', 'enabled', unless),
  installImage: image('machine.install.image', 'UnattendedInstallConfig', 'installer.image'),
  kubeletImage: image('machine.kubelet.image', 'KubeletConfig'),
  apiServerImage: image('cluster.apiServer.image', 'KubeAPIServerConfig'),
  controllerManagerImage: image('cluster.controllerManager.image', 'KubeControllerManagerConfig'),
  schedulerImage: image('cluster.scheduler.image', 'KubeSchedulerConfig'),
  proxyImage: image('cluster.proxy.image', 'KubeProxyConfig'),
  kubeletFeatureGates: moved(
    'machine.kubelet.extraConfig.featureGates',
    flags,
    'KubeletConfig',
    'config.featureGates',
  ),
  kubeletArguments: extraArguments('machine.kubelet', 'KubeletConfig'),
  apiServerArguments: extraArguments('cluster.apiServer', 'KubeAPIServerConfig'),
  controllerManagerArguments: extraArguments(
    'cluster.controllerManager',
    'KubeControllerManagerConfig',
  ),
  schedulerArguments: extraArguments('cluster.scheduler', 'KubeSchedulerConfig'),
} as const

const serviceAccountKey: Fact<string | null> = {
  main: {
    ...homeAt('', 'cluster.serviceAccount.key', encodedKey),
    paths: ['cluster.serviceAccount'],
  },
  document: {
    ...homeAt('KubeServiceAccountConfig', 'issuer.privateKey', text),
    paths: ['issuer.privateKey', 'accepted'],
  },
}

/**
 * Keys, tokens and authorities of the cluster, which `talosctl rotate-ca` changes. They are
 * imported with the cluster's secrets and never stored with a server.
 */
export const secretFacts = {
  machineToken: stays('machine.token', text),
  talosAuthorities: { main: encodedAuthorities('machine.ca', 'machine.acceptedCAs') },
  clusterId: moved('cluster.id', text, 'DiscoveryIdentityConfig', 'clusterID'),
  clusterSecret: moved('cluster.secret', text, 'DiscoveryIdentityConfig', 'clusterSecret'),
  bootstrapToken: stays('cluster.token', text),
  kubernetesAuthorities: {
    main: encodedAuthorities('cluster.ca', 'cluster.acceptedCAs'),
    document: documentAuthorities('KubeAPIServerCAConfig'),
  },
  aggregatorAuthorities: {
    main: encodedAuthorities('cluster.aggregatorCA', null),
    document: documentAuthorities('KubeAggregatorCAConfig'),
  },
  serviceAccountKey,
  etcdAuthority: { main: encodedAuthorities('cluster.etcd.ca', null) },
  encryptionKeys,
} as const
