/** What a configuration needs of the image: modules and services that come with extensions. */
import { type InventoryRule, some } from '../known.ts'
import type { Configuration } from '../rule.ts'

const words = (text: string): string[] => text.trim().split(/\s+/)

/**
 * Modules that Talos's own image lacks, by the extensions that bring them; any of several is enough
 * (siderolabs/extensions at 2026-08: `files/modules.txt` of each, and the modules of drivers that
 * are built apart).
 */
const modulesOf: Readonly<Record<string, string>> = {
  'nvidia nvidia_uvm nvidia_drm nvidia_modeset nvidia_peermem':
    'nvidia-open-gpu-kernel-modules-lts nvidia-open-gpu-kernel-modules-production nonfree-kmod-nvidia-lts nonfree-kmod-nvidia-production',
  gdrdrv: 'nvidia-gdrdrv-device',
  'zfs spl': 'zfs',
  'drbd drbd_transport_tcp drbd_transport_lb-tcp drbd_transport_rdma': 'drbd',
  btrfs: 'btrfs',
  nfsd: 'nfsd',
  cachefiles: 'cachefilesd',
  binfmt_misc: 'binfmt-misc',
  'gasket apex': 'gasket-driver',
  hailo_pci: 'hailort',
  tenstorrent: 'tenstorrent',
  xdma: 'xdma-driver',
  i915: 'i915',
  xe: 'xe',
  amdgpu: 'amdgpu',
  intel_vpu: 'intel-npu',
  'v3d vc4': 'vc4',
  'panfrost panthor': 'panfrost',
  'mei mei_me mei_txe mei_gsc mei_hdcp mei_pxp mei_wdt': 'mei',
  'thunderbolt thunderbolt_net': 'thunderbolt',
  'uvcvideo videodev': 'v4l-uvc-drivers',
  'snd_usb_audio snd_usbmidi_lib': 'usb-audio-drivers',
  'qmi_wwan option usb_wwan huawei_cdc_ncm cdc_mbim sierra_net': 'usb-modem-drivers',
  uinput: 'uinput',
  uhid: 'uhid',
  joydev: 'joydev',
  cx23885: 'dvb-cx23885',
}
/** Services that read a configuration, by the extensions that bring them (`*.yaml` of each). */
const servicesOf: Readonly<Record<string, string>> = {
  bird2: 'bird2',
  cachefilesd: 'cachefilesd',
  cloudflared: 'cloudflared',
  'hello-world': 'hello-world-service',
  'hyperv-kvp hyperv-vss': 'hyperv-guest-agent',
  iscsid: 'iscsi-tools trident-iscsi-tools',
  lldpd: 'lldpd',
  'metal-agent': 'metal-agent',
  multipathd: 'multipath-tools',
  nebula: 'nebula',
  netbird: 'netbird',
  newt: 'newt',
  'nut-client': 'nut-client',
  'nvidia-cdi-gen nvidia-persistenced':
    'nvidia-container-toolkit-lts nvidia-container-toolkit-production',
  'nvidia-fabricmanager': 'nvidia-fabricmanager-lts nvidia-fabricmanager-production',
  'nvidia-gdrdrv-device': 'nvidia-gdrdrv-device',
  'qemu-guest-agent': 'qemu-guest-agent',
  'rpc-statd rpcbind': 'nfs-utils',
  'soci-snapshotter': 'soci-snapshotter',
  'stargz-snapshotter': 'stargz-snapshotter',
  tailscale: 'tailscale',
  'talos-vmtoolsd': 'vmtoolsd-guest-agent',
  'xen-guest-agent': 'xen-guest-agent',
  zerotier: 'zerotier',
  'zfs-service': 'zfs',
}

const byName = (table: Readonly<Record<string, string>>) =>
  new Map(
    Object.entries(table).flatMap(([names, extensions]) =>
      words(names).map((name) => [name, words(extensions)] as const),
    ),
  )
const modules = byName(modulesOf)
const services = byName(servicesOf)

/** Without the owner: `siderolabs/zfs` of a schematic is `zfs` on a machine. */
const bare = (extension: string): string => extension.slice(extension.lastIndexOf('/') + 1)

/** The extensions of which one is needed and none is in the image; null if nothing is missing. */
function missing(needed: readonly string[] | undefined, extensions: readonly string[]) {
  return needed === undefined || needed.some((one) => extensions.map(bare).includes(one))
    ? null
    : needed
}

const or = (names: readonly string[]): string =>
  names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} or ${names.at(-1)!}`

/** RuntimeClasses and credential providers are files of extensions (`/usr/local`). */
function* programsOf({ main }: Configuration) {
  const path = ['machine', 'kubelet', 'credentialProviderConfig', 'providers']
  for (const item of main.items(...path))
    yield { path: [...item.path, 'name'], name: main.text(...item.path, 'name') }
}
const providers: ReadonlyMap<string, readonly string[]> = new Map([
  ['ecr-credential-provider', ['ecr-credential-provider']],
  ['harbor-credential-provider', ['harbor-credential-provider']],
])

export const imageRules: readonly InventoryRule[] = [
  {
    id: 'module-without-extension',
    source:
      'Talos internal/app/machined/pkg/controllers/runtime/kernel_module_spec.go: the module is tried again for ever; siderolabs/extensions',
    level: 'warn',
    *find({ main }, { server, extensions }) {
      if (!extensions) return
      for (const { path } of main.items('machine', 'kernel', 'modules')) {
        const name = main.text(...path, 'name')
        const needed = missing(
          modules.get(name.replaceAll('-', '_')) ?? modules.get(name),
          extensions,
        )
        if (needed !== null)
          yield {
            document: main,
            path: [...path, 'name'],
            sentence: `The image of ${server} has no extension with the module ${name} (${or(needed)}), so Talos tries to load it again and again. It has ${some(extensions)}`,
          }
      }
    },
  },
  {
    id: 'service-without-extension',
    source:
      'Talos internal/app/machined/pkg/controllers/runtime/extension_service.go: the configuration waits for a service of this name; siderolabs/extensions',
    level: 'warn',
    *find(config, { server, extensions }) {
      if (!extensions) return
      for (const document of config.of('ExtensionServiceConfig')) {
        const name = document.text('name')
        const needed = missing(services.get(name), extensions)
        if (needed !== null)
          yield {
            document,
            path: ['name'],
            sentence: `The image of ${server} has no extension with the service ${name} (${or(needed)}), so its configuration has no effect. It has ${some(extensions)}`,
          }
      }
    },
  },
  {
    id: 'credential-provider-without-extension',
    source:
      'Kubernetes pkg/credentialprovider/plugin/plugin.go, RegisterCredentialProviderPlugins: "plugin binary executable … did not exist" ends the kubelet; Talos looks in /usr/local/lib/kubelet/credentialproviders',
    level: 'warn',
    *find(config, { server, extensions }) {
      if (!extensions) return
      for (const { path, name } of programsOf(config)) {
        const needed = missing(
          providers.get(name) ?? (extensions.length === 0 ? [name] : undefined),
          extensions,
        )
        if (needed !== null && name !== '')
          yield {
            document: config.main,
            path,
            sentence: `The image of ${server} has no extension with the program ${name}, so the kubelet does not start. It has ${some(extensions)}`,
          }
      }
    },
  },
]
