import type { Profile } from './certificates.ts'

export interface KnownDifference {
  /**
   * Name of the difference in `talos/README.md`, which explains which side is right and why we keep
   * our behaviour.
   */
  title: string
  /** Matches the ids of the cases. */
  cases: RegExp
}

/**
 * Every class of cases in which we differ from Talos on purpose. The test fails on a difference
 * without a class, and on a class without a difference.
 */
export const knownDifferences: readonly KnownDifference[] = [
  {
    title: 'A value that cannot work is refused before it reaches a machine',
    cases:
      /^(BondConfig\/(arpIpTargets|nsIp6Targets|failOverMac)|KubeSpanConfig\/filters\.excludeAdvertisedNetworks|KubeSpanEndpointsConfig\/extraAnnouncedEndpoints|(PCIDriverRebindConfig|TrustedRootsConfig)\/name|ResolverConfig\/nameservers|TCPProbeConfig\/endpoint|TrustedRootsConfig\/certificates|KubeAPIServerConfig\/apiPort|main\/machine\.network\.nameservers|main\/cluster\.(apiServer|controllerManager|scheduler)\.image|main\/cluster\.controlPlane\.(endpoint|localAPIServerPort)|main\/cluster\.network\.(podSubnets|serviceSubnets)|main\/machine\.(features\.hostDNS\.forwardKubeDNSToHost|features\.kubePrism\.port|files|kubelet\.clusterDNS|kubelet\.image))=|^HostnameConfig\/auto="off"|^policy: a subnet too long$|^worker: a kubelet that is too new$/,
  },
  {
    title: 'Encryption without keys is refused',
    cases: /^\w*VolumeConfig\/encryption|^seeded \d+: VolumeConfig /,
  },
  {
    title: 'A patch keeps what it does not name',
    cases:
      /^((User|Raw|Swap|Existing)VolumeConfig|RAIDArrayConfig|LVMVolumeGroupConfig)\/(provisioning|discovery).* after itself$|^UnattendedInstallConfig\/|^main\/(machine|cluster\.etcd)\.ca(\.crt|\.key)?=|^volumes: (a volume patched without|maxSize in percent$)|^seeded \d+: ((Swap|User|Raw|Existing|External)VolumeConfig|LinkAliasConfig|LVMVolumeGroupConfig|OOMConfig|RAIDArrayConfig|UnattendedInstallConfig) (merged|in one patch|deleted in part)$/,
  },
  {
    title: 'An empty value counts as left out',
    cases:
      /"table":""|"size":""|diskSelector\.size=""|VolumeConfig\/(mount|filesystem)=\{\}|hostDNS=\{\}/,
  },
  {
    title: 'URLs are replaced whole',
    cases:
      /^logs: |^KubeClusterConfig\/endpoint=|^KubeServiceAccountConfig\/issuer\.issuerURL=|^(HTTPProbeConfig|KubeExternalManifestConfig)\/url=.* after itself$|^DiscoveryServiceConfig\/endpoint=.* after itself$|^seeded \d+: (KubeClusterConfig|KubeServiceAccountConfig|SideroLinkConfig|KubeExternalManifestConfig) (merged|in one patch)$/,
  },
  {
    title: 'Routing rules and disk sizes can be patched',
    cases:
      /^interfaces: a routing rule, patched$|^worker: an install disk selector with a size, patched$/,
  },
  {
    title: 'A list element can be deleted by any of its values',
    cases:
      /^interfaces: an interface of a list deleted by a flag$|^worker: a list element deleted by number$/,
  },
  {
    title: 'Two equal device selectors are one interface',
    cases: /^interfaces: a physical selector twice$/,
  },
  { title: 'A file that begins with white space is quoted', cases: /^worker: a file / },
  {
    title: 'A deletion of a part of what is not there adds nothing',
    cases:
      /: a delete inside a document that is not there$|^seeded \d+: \w+ deleted in part unseen$/,
  },
  {
    title: 'A wrong value that is deleted is not read',
    cases: /^seeded \d+: \w+ (deleted|made anew)/,
  },
  { title: 'A JSON patch is refused', cases: /^worker: a JSON patch$/ },
  {
    title: 'A patch of nothing changes nothing',
    cases: /^worker: (an empty patch|a patch of comments)$/,
  },
  {
    title: 'Empty lists, false flags and arguments may be written otherwise',
    cases:
      /[./]extraArgs=|\.machinedAccess=false|\.extraVolumes=\[\{"readonly":false\}\]|^main\/(cluster\.(extraManifests|inlineManifests)|machine\.seccompProfiles)=\[\]( beside documents)?$|^seeded \d+: Kube(Scheduler|ControllerManager|APIServer|Proxy|let)Config |^policy: arguments that are (empty|null)$/,
  },
]

/**
 * Intentional differences between certificates: a field, and the cases in which the field differs.
 */
export const knownCertificateDifferences: readonly (KnownDifference & { field: keyof Profile })[] =
  [
    {
      title: 'A certificate begins five minutes before it is made',
      field: 'backdatedSeconds',
      cases: /./,
    },
    {
      title: 'Organizations of a certificate keep their order',
      field: 'organizations',
      cases: /^kubeconfig of a person$/,
    },
    {
      title: 'The front proxy authority has a name',
      field: 'commonName',
      cases: /^authority k8sAggregator$/,
    },
  ]
