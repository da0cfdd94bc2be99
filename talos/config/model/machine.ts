/** `machine` of the v1alpha1 document (Talos `pkg/machinery/config/types/v1alpha1/v1alpha1_types.go`). */
import {
  about,
  always,
  argumentsOf,
  certificate,
  duration,
  flag,
  free,
  integer,
  inPlace,
  key,
  list,
  map,
  type ObjectShape,
  object,
  optionalInteger,
  plainChoice,
  secret,
  sensitive,
  text,
  texts,
} from './shape.ts'

export const keyPair: ObjectShape = object({ crt: always(certificate('Certificate: base64 of PEM')), key: always(key('Private key: base64 of PEM')) })
export const acceptedAuthorities = list(object({ crt: always(certificate()) }), 'Further authorities that are trusted, while they are being changed')
export const environment = (sentence?: string) => sensitive(map(text(), sentence))

const idMappings = list(object({ containerID: always(integer()), hostID: always(integer()), size: always(integer()) }))

const kubelet = object(
  {
    image: text('Image of the kubelet; its tag decides the Kubernetes version of this server'),
    clusterDNS: texts('Addresses of the cluster’s DNS service'),
    extraArgs: argumentsOf('Further arguments of the kubelet'),
    extraMounts: list(
      object({
        destination: always(text('Path inside the kubelet’s mount namespace')),
        type: text('Kind of mount, such as bind'),
        source: text('Path on the server'),
        options: texts('Mount options, such as rshared and rw'),
        uidMappings: idMappings,
        gidMappings: idMappings,
      }),
      'Paths that the kubelet sees beside its own',
    ),
    extraConfig: sensitive(free('Fields of KubeletConfiguration that Talos doesn’t set itself')),
    credentialProviderConfig: sensitive(free('Where the kubelet gets credentials for images')),
    defaultRuntimeSeccompProfileEnabled: flag('Containers get the runtime’s own seccomp profile unless they ask for another'),
    registerWithFQDN: flag('Use the fully qualified host name as the node’s name'),
    nodeIP: object(
      { validSubnets: texts('Networks that the node’s address is chosen from; with ! in front: not from it') },
      'Which address the node announces',
    ),
    skipNodeRegistration: flag('Run the kubelet without joining a cluster'),
    disableManifestsDirectory: flag('Take static pods from the configuration only'),
  },
  'Kubernetes’ agent on this server',
)

const dhcpOptions = object({
  routeMetric: always(integer('Priority of the routes received')),
  ipv4: flag(),
  ipv6: flag(),
  duidv6: text(),
})
const virtualIp = object({
  ip: text('Address that the control planes share'),
  equinixMetal: object({ apiToken: always(secret()) }),
  hcloud: object({ apiToken: always(secret()) }),
})
const routes = list(
  object({
    network: always(text('Destination; empty for the default route')),
    gateway: always(text()),
    source: text(),
    metric: integer(),
    mtu: integer(),
  }),
)
const deviceSelector = object({
  busPath: text('PCI address, with globs'),
  hardwareAddr: text('MAC address, with globs'),
  permanentAddr: text('MAC address that the hardware was made with'),
  pciID: text(),
  driver: text(),
  physical: flag(),
})
const bond = object({
  interfaces: always(texts()),
  deviceSelectors: list(deviceSelector),
  arpIPTarget: texts(),
  mode: always(text()),
  xmitHashPolicy: text(),
  lacpRate: text(),
  adActorSystem: text(),
  arpValidate: text(),
  arpAllTargets: text(),
  primary: text(),
  primaryReselect: text(),
  failOverMac: text(),
  adSelect: text(),
  miimon: integer(),
  updelay: integer(),
  downdelay: integer(),
  arpInterval: integer(),
  resendIgmp: integer(),
  minLinks: integer(),
  lpInterval: integer(),
  packetsPerSlave: integer(),
  numPeerNotif: integer(),
  tlbDynamicLb: integer(),
  allSlavesActive: integer(),
  useCarrier: flag(),
  adActorSysPrio: integer(),
  adUserPortKey: integer(),
  peerNotifyDelay: integer(),
})
const device = object({
  interface: text('Name of the link'),
  deviceSelector: about(deviceSelector, 'Chooses the link by its hardware instead of its name'),
  addresses: texts('Addresses with prefix length'),
  cidr: text(),
  routes,
  bond,
  bridge: object({ interfaces: always(texts()), stp: object({ enabled: flag() }), vlan: object({ vlanFiltering: flag() }) }),
  bridgePort: object({ master: text() }),
  vlans: {
    ...list(
      object({
        addresses: texts(),
        cidr: text(),
        routes: always(routes),
        dhcp: flag(),
        vlanId: always(integer('VLAN ID, 1 to 4094')),
        mtu: integer(),
        vip: virtualIp,
        dhcpOptions,
      }),
    ),
    merge: { by: ['vlanId'] },
  },
  mtu: integer(),
  dhcp: flag(),
  ignore: flag(),
  dummy: flag(),
  dhcpOptions,
  wireguard: object({
    privateKey: secret(),
    listenPort: integer(),
    firewallMark: integer(),
    peers: list(object({ publicKey: text(), endpoint: text(), persistentKeepaliveInterval: duration(), allowedIPs: texts() })),
  }),
  vip: virtualIp,
})

const network = object(
  {
    hostname: text('Host name; the HostnameConfig document replaces it'),
    interfaces: {
      ...list(device, 'Links; the documents LinkConfig, BondConfig, VLANConfig and others replace them'),
      merge: { by: ['interface', 'deviceSelector'] },
    },
    nameservers: texts('Addresses of name servers; the ResolverConfig document replaces them'),
    searchDomains: texts(),
    extraHostEntries: list(object({ ip: always(text()), aliases: always(texts()) }), 'Lines for /etc/hosts; the StaticHostConfig document replaces them'),
    kubespan: object({
      enabled: flag(),
      advertiseKubernetesNetworks: flag(),
      allowDownPeerBypass: flag(),
      harvestExtraEndpoints: flag(),
      mtu: optionalInteger(),
      filters: object({ endpoints: texts(), excludeAdvertisedNetworks: texts() }),
    }),
    disableSearchDomain: flag(),
  },
  'Network; since Talos 1.12 documents of their own say the same better',
)

const install = object(
  {
    disk: text('Disk that Talos is installed on: a path such as /dev/nvme0n1 or one under /dev/disk/by-id'),
    diskSelector: object(
      {
        size: text('Such as >= 100GB'),
        name: text(),
        model: text(),
        serial: text(),
        modalias: text(),
        uuid: text(),
        wwid: text(),
        type: plainChoice(['ssd', 'hdd', 'nvme', 'sd']),
        busPath: text(),
      },
      'Chooses the disk by its properties; the disk’s path wins over it',
    ),
    extraKernelArgs: texts('Kernel arguments; without effect where the image carries them (UEFI since Talos 1.10)'),
    image: text('Installer image; it must carry the same schematic as the image that the server booted'),
    extensions: list(object({ image: always(text()) }), 'Without effect since Talos 1.10: put extensions into the image'),
    bootloader: flag(),
    wipe: always(flag('Wipe the disk before the installation')),
    legacyBIOSSupport: flag(),
    grubUseUKICmdline: flag('Take the kernel’s command line from the image also with GRUB'),
  },
  'How Talos is installed',
)

const oldEncryption = object({
  provider: always(text()),
  keys: always(
    list(
      object({
        static: object({ passphrase: secret() }),
        nodeID: object({}),
        kms: object({ endpoint: always(text()) }),
        slot: always(integer()),
        tpm: object({ checkSecurebootStatusOnEnroll: flag() }),
      }),
    ),
  ),
  cipher: text(),
  keySize: integer(),
  blockSize: integer(),
  options: texts(),
})

const registries = inPlace(
  object(
    {
      mirrors: map(object({ endpoints: always(texts()), overridePath: flag(), skipFallback: flag() }), 'The RegistryMirrorConfig document replaces it'),
      config: map(
        object({
          tls: object({ clientIdentity: keyPair, ca: certificate(), insecureSkipVerify: flag() }),
          auth: object({ username: text(), password: secret(), auth: secret(), identityToken: secret() }),
        }),
        'The documents RegistryTLSConfig and RegistryAuthConfig replace it',
      ),
    },
    'Image registries',
  ),
)

const features = object(
  {
    rbac: flag('Always on since Talos 1.12'),
    stableHostname: flag('A host name from the hardware’s identity; the HostnameConfig document replaces it'),
    kubernetesTalosAPIAccess: object(
      { enabled: flag(), allowedRoles: texts('Talos roles that may be given'), allowedKubernetesNamespaces: texts('Namespaces that may ask') },
      'Talos’s API for pods; control planes only',
    ),
    apidCheckExtKeyUsage: flag('Always on since Talos 1.12'),
    diskQuotaSupport: flag('Measure the disk space that pods use'),
    kubePrism: object({ enabled: flag(), port: integer('Port on localhost') }, 'A way to the Kubernetes API inside each server that outlives the endpoint'),
    hostDNS: object({ enabled: flag(), forwardKubeDNSToHost: flag(), resolveMemberNames: flag() }, 'Talos’s own caching name server'),
    imageCache: object({ localEnabled: flag() }),
    nodeAddressSortAlgorithm: plainChoice(['v1', 'v2']),
  },
  'Switches of Talos',
)

export const machine = object(
  {
    type: always(plainChoice(['controlplane', 'worker', 'init'], 'Role of the server')),
    token: always(secret('Lets a worker ask a control plane for its certificate')),
    ca: about(keyPair, 'Authority of Talos’s API; its key is on control planes only'),
    acceptedCAs: acceptedAuthorities,
    certSANs: always(texts('Further names and addresses of Talos’s API on this server')),
    controlPlane: object(
      { controllerManager: object({ disabled: flag() }), scheduler: object({ disabled: flag() }) },
      'Parts of the control plane that don’t run here',
    ),
    kubelet,
    pods: sensitive(list(free(), 'Static pods')),
    network,
    disks: list(
      object({ device: text(), partitions: list(object({ size: text(), mountpoint: text() })) }),
      'Further disks; the UserVolumeConfig document replaces them',
    ),
    install,
    files: list(
      object({
        content: always(sensitive(text())),
        permissions: always({ ...integer('Octal, such as 0o644'), octal: true }),
        path: always(text()),
        op: always(plainChoice(['create', 'append', 'overwrite'])),
      }),
      'Files under /var',
    ),
    env: environment('Environment of Talos’s services, such as a proxy'),
    time: object({ disabled: flag(), servers: texts(), bootTimeout: duration() }, 'The TimeSyncConfig document replaces it'),
    sysctls: map(text(), 'Kernel parameters'),
    sysfs: map(text(), 'Values under /sys'),
    registries,
    systemDiskEncryption: object({ state: oldEncryption, ephemeral: oldEncryption }, 'The VolumeConfig document replaces it'),
    features,
    udev: object({ rules: texts() }),
    logging: object(
      {
        destinations: always(
          list(
            object({
              endpoint: always(text('tcp://host:port or udp://host:port')),
              format: always(plainChoice(['json_lines'])),
              extraTags: sensitive(map(text())),
            }),
          ),
        ),
      },
      'Where the logs of Talos’s services go',
    ),
    kernel: object({ modules: list(object({ name: always(text()), parameters: texts() })) }, 'Kernel modules to load'),
    seccompProfiles: { ...list(object({ name: always(text()), value: always(free()) })), keepEmpty: true },
    baseRuntimeSpecOverrides: sensitive(free('Changes to the OCI specification of every container')),
    nodeLabels: map(text(), 'Labels of the Kubernetes node'),
    nodeAnnotations: map(text(), 'Annotations of the Kubernetes node'),
    nodeTaints: map(text(), 'Taints of the Kubernetes node: key: value:effect'),
  },
  'What concerns this server',
)
