/**
 * `machine` of the v1alpha1 document (Talos
 * `pkg/machinery/config/types/v1alpha1/v1alpha1_types.go`).
 */
import * as t from './shape.ts'

export const keyPair: t.ObjectShape = t.object({
  crt: t.always(t.certificate('Certificate: base64 of PEM')),
  key: t.always(t.key('Private key: base64 of PEM')),
})
export const acceptedAuthorities = t.list(
  t.object({ crt: t.always(t.certificate()) }),
  'Further authorities that are trusted, while they are being changed',
)
export const environment = (sentence?: string) => t.sensitive(t.map(t.text(), sentence))

const idMappings = t.list(
  t.object({
    containerID: t.always(t.integer()),
    hostID: t.always(t.integer()),
    size: t.always(t.integer()),
  }),
)

const kubelet = t.object(
  {
    image: t.text('Image of the kubelet; its tag decides the Kubernetes version of this server'),
    clusterDNS: t.texts('Addresses of the cluster’s DNS service'),
    extraArgs: t.argumentsOf('Further arguments of the kubelet'),
    extraMounts: t.list(
      t.object({
        destination: t.always(t.text('Path inside the kubelet’s mount namespace')),
        type: t.text('Kind of mount, such as bind'),
        source: t.text('Path on the server'),
        options: t.texts('Mount options, such as rshared and rw'),
        uidMappings: idMappings,
        gidMappings: idMappings,
      }),
      'Paths that the kubelet sees beside its own',
    ),
    extraConfig: t.sensitive(
      t.free('Fields of KubeletConfiguration that Talos doesn’t set itself'),
    ),
    credentialProviderConfig: t.sensitive(t.free('Where the kubelet gets credentials for images')),
    defaultRuntimeSeccompProfileEnabled: t.flag(
      'Containers get the runtime’s own seccomp profile unless they ask for another',
    ),
    registerWithFQDN: t.flag('Use the fully qualified host name as the node’s name'),
    nodeIP: t.object(
      {
        validSubnets: t.texts(
          'Networks that the node’s address is chosen from; with ! in front: not from it',
        ),
      },
      'Which address the node announces',
    ),
    skipNodeRegistration: t.flag('Run the kubelet without joining a cluster'),
    disableManifestsDirectory: t.flag('Take static pods from the configuration only'),
  },
  'Kubernetes’ agent on this server',
)

const dhcpOptions = t.object({
  routeMetric: t.always(t.integer('Priority of the routes received')),
  ipv4: t.flag(),
  ipv6: t.flag(),
  duidv6: t.text(),
})
const virtualIp = t.object({
  ip: t.text('Address that the control planes share'),
  equinixMetal: t.object({ apiToken: t.always(t.secret()) }),
  hcloud: t.object({ apiToken: t.always(t.secret()) }),
})
const routes = t.list(
  t.object({
    network: t.always(t.text('Destination; empty for the default route')),
    gateway: t.always(t.text()),
    source: t.text(),
    metric: t.integer(),
    mtu: t.integer(),
  }),
)
const deviceSelector = t.object({
  busPath: t.text('PCI address, with globs'),
  hardwareAddr: t.text('MAC address, with globs'),
  permanentAddr: t.text('MAC address that the hardware was made with'),
  pciID: t.text(),
  driver: t.text(),
  physical: t.flag(),
})
const bond = t.object({
  interfaces: t.always(t.texts()),
  deviceSelectors: t.list(deviceSelector),
  arpIPTarget: t.texts(),
  mode: t.always(t.text()),
  ...t.each(
    t.text(),
    'xmitHashPolicy lacpRate adActorSystem arpValidate arpAllTargets primary primaryReselect failOverMac adSelect',
  ),
  ...t.each(
    t.integer(),
    'miimon updelay downdelay arpInterval resendIgmp minLinks lpInterval packetsPerSlave numPeerNotif tlbDynamicLb allSlavesActive',
  ),
  useCarrier: t.flag(),
  ...t.each(t.integer(), 'adActorSysPrio adUserPortKey peerNotifyDelay'),
})
const device = t.object({
  interface: t.text('Name of the link'),
  deviceSelector: t.about(deviceSelector, 'Chooses the link by its hardware instead of its name'),
  addresses: t.texts('Addresses with prefix length'),
  cidr: t.text(),
  routes,
  bond,
  bridge: t.object({
    interfaces: t.always(t.texts()),
    stp: t.object({ enabled: t.flag() }),
    vlan: t.object({ vlanFiltering: t.flag() }),
  }),
  bridgePort: t.object({ master: t.text() }),
  vlans: {
    ...t.list(
      t.object({
        addresses: t.texts(),
        cidr: t.text(),
        routes: t.always(routes),
        dhcp: t.flag(),
        vlanId: t.always(t.integer('VLAN ID, 1 to 4094')),
        mtu: t.integer(),
        vip: virtualIp,
        dhcpOptions,
      }),
    ),
    merge: { by: ['vlanId'] },
  },
  mtu: t.integer(),
  ...t.each(t.flag(), 'dhcp ignore dummy'),
  dhcpOptions,
  wireguard: t.object({
    privateKey: t.secret(),
    listenPort: t.integer(),
    firewallMark: t.integer(),
    peers: t.list(
      t.object({
        publicKey: t.text(),
        endpoint: t.text(),
        persistentKeepaliveInterval: t.duration(),
        allowedIPs: t.texts(),
      }),
    ),
  }),
  vip: virtualIp,
})

const network = t.object(
  {
    hostname: t.text('Host name; the HostnameConfig document replaces it'),
    interfaces: {
      ...t.list(
        device,
        'Links; the documents LinkConfig, BondConfig, VLANConfig and others replace them',
      ),
      merge: { by: ['interface', 'deviceSelector'] },
    },
    nameservers: t.texts('Addresses of name servers; the ResolverConfig document replaces them'),
    searchDomains: t.texts(),
    extraHostEntries: t.list(
      t.object({ ip: t.always(t.text()), aliases: t.always(t.texts()) }),
      'Lines for /etc/hosts; the StaticHostConfig document replaces them',
    ),
    kubespan: t.object({
      ...t.each(
        t.flag(),
        'enabled advertiseKubernetesNetworks allowDownPeerBypass harvestExtraEndpoints',
      ),
      mtu: t.optionalInteger(),
      filters: t.object({ endpoints: t.texts(), excludeAdvertisedNetworks: t.texts() }),
    }),
    disableSearchDomain: t.flag(),
  },
  'Network; since Talos 1.12 documents of their own say the same better',
)

const install = t.object(
  {
    disk: t.text(
      'Disk that Talos is installed on: a path such as /dev/nvme0n1 or one under /dev/disk/by-id',
    ),
    diskSelector: t.object(
      {
        size: t.text('Such as >= 100GB'),
        ...t.each(t.text(), 'name model serial modalias uuid wwid'),
        type: t.plainChoice(['ssd', 'hdd', 'nvme', 'sd']),
        busPath: t.text(),
      },
      'Chooses the disk by its properties; the disk’s path wins over it',
    ),
    extraKernelArgs: t.texts(
      'Kernel arguments; without effect where the image carries them (UEFI since Talos 1.10)',
    ),
    image: t.text(
      'Installer image; it must carry the same schematic as the image that the server booted',
    ),
    extensions: t.list(
      t.object({ image: t.always(t.text()) }),
      'Without effect since Talos 1.10: put extensions into the image',
    ),
    bootloader: t.flag(),
    wipe: t.always(t.flag('Wipe the disk before the installation')),
    legacyBIOSSupport: t.flag(),
    grubUseUKICmdline: t.flag('Take the kernel’s command line from the image also with GRUB'),
  },
  'How Talos is installed',
)

const oldEncryption = t.object({
  provider: t.always(t.text()),
  keys: t.always(
    t.list(
      t.object({
        static: t.object({ passphrase: t.secret() }),
        nodeID: t.object({}),
        kms: t.object({ endpoint: t.always(t.text()) }),
        slot: t.always(t.integer()),
        tpm: t.object({ checkSecurebootStatusOnEnroll: t.flag() }),
      }),
    ),
  ),
  cipher: t.text(),
  keySize: t.integer(),
  blockSize: t.integer(),
  options: t.texts(),
})

const registries = t.inPlace(
  t.object(
    {
      mirrors: t.map(
        t.object({
          endpoints: t.always(t.texts()),
          overridePath: t.flag(),
          skipFallback: t.flag(),
        }),
        'The RegistryMirrorConfig document replaces it',
      ),
      config: t.map(
        t.object({
          tls: t.object({
            clientIdentity: keyPair,
            ca: t.certificate(),
            insecureSkipVerify: t.flag(),
          }),
          auth: t.object({
            username: t.text(),
            password: t.secret(),
            auth: t.secret(),
            identityToken: t.secret(),
          }),
        }),
        'The documents RegistryTLSConfig and RegistryAuthConfig replace it',
      ),
    },
    'Image registries',
  ),
)

const features = t.object(
  {
    rbac: t.flag('Always on since Talos 1.12'),
    stableHostname: t.flag(
      'A host name from the hardware’s identity; the HostnameConfig document replaces it',
    ),
    kubernetesTalosAPIAccess: t.object(
      {
        enabled: t.flag(),
        allowedRoles: t.texts('Talos roles that may be given'),
        allowedKubernetesNamespaces: t.texts('Namespaces that may ask'),
      },
      'Talos’s API for pods; control planes only',
    ),
    apidCheckExtKeyUsage: t.flag('Always on since Talos 1.12'),
    diskQuotaSupport: t.flag('Measure the disk space that pods use'),
    kubePrism: t.object(
      { enabled: t.flag(), port: t.integer('Port on localhost') },
      'A way to the Kubernetes API inside each server that outlives the endpoint',
    ),
    hostDNS: t.object(
      { enabled: t.flag(), forwardKubeDNSToHost: t.flag(), resolveMemberNames: t.flag() },
      'Talos’s own caching name server',
    ),
    imageCache: t.object({ localEnabled: t.flag() }),
    nodeAddressSortAlgorithm: t.plainChoice(['v1', 'v2']),
  },
  'Switches of Talos',
)

export const machine = t.object(
  {
    type: t.always(t.plainChoice(['controlplane', 'worker', 'init'], 'Role of the server')),
    token: t.always(t.secret('Lets a worker ask a control plane for its certificate')),
    ca: t.about(keyPair, 'Authority of Talos’s API; its key is on control planes only'),
    acceptedCAs: acceptedAuthorities,
    certSANs: t.always(t.texts('Further names and addresses of Talos’s API on this server')),
    controlPlane: t.object(
      {
        controllerManager: t.object({ disabled: t.flag() }),
        scheduler: t.object({ disabled: t.flag() }),
      },
      'Parts of the control plane that don’t run here',
    ),
    kubelet,
    pods: t.sensitive(t.list(t.free(), 'Static pods')),
    network,
    disks: t.list(
      t.object({
        device: t.text(),
        partitions: t.list(t.object({ size: t.text(), mountpoint: t.text() })),
      }),
      'Further disks; the UserVolumeConfig document replaces them',
    ),
    install,
    files: t.list(
      t.object({
        content: t.always(t.sensitive(t.text())),
        permissions: t.always({ ...t.integer('Octal, such as 0o644'), octal: true }),
        path: t.always(t.text()),
        op: t.always(t.plainChoice(['create', 'append', 'overwrite'])),
      }),
      'Files under /var',
    ),
    env: environment('Environment of Talos’s services, such as a proxy'),
    time: t.object(
      { disabled: t.flag(), servers: t.texts(), bootTimeout: t.duration() },
      'The TimeSyncConfig document replaces it',
    ),
    sysctls: t.map(t.text(), 'Kernel parameters'),
    sysfs: t.map(t.text(), 'Values under /sys'),
    registries,
    systemDiskEncryption: t.object(
      { state: oldEncryption, ephemeral: oldEncryption },
      'The VolumeConfig document replaces it',
    ),
    features,
    udev: t.object({ rules: t.texts() }),
    logging: t.object(
      {
        destinations: t.always(
          t.list(
            t.object({
              endpoint: t.always(t.text('tcp://host:port or udp://host:port')),
              format: t.always(t.plainChoice(['json_lines'])),
              extraTags: t.sensitive(t.map(t.text())),
            }),
          ),
        ),
      },
      'Where the logs of Talos’s services go',
    ),
    kernel: t.object(
      { modules: t.list(t.object({ name: t.always(t.text()), parameters: t.texts() })) },
      'Kernel modules to load',
    ),
    seccompProfiles: {
      ...t.list(t.object({ name: t.always(t.text()), value: t.always(t.free()) })),
      keepEmpty: true,
    },
    baseRuntimeSpecOverrides: t.sensitive(
      t.free('Changes to the OCI specification of every container'),
    ),
    nodeLabels: t.map(t.text(), 'Labels of the Kubernetes node'),
    nodeAnnotations: t.map(t.text(), 'Annotations of the Kubernetes node'),
    nodeTaints: t.map(t.text(), 'Taints of the Kubernetes node: key: value:effect'),
  },
  'What concerns this server',
)
