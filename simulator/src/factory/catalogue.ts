import { createHash } from 'node:crypto'
import { Invalid } from './schematic.ts'

/** Something doesn't exist: the factory answers 404. */
export class Missing extends Error {
  override name = 'Missing'
}

/**
 * Talos versions that the factory builds, oldest first: more than Steelyard supports, and
 * prereleases of the newest minor only, like the real one (image-factory:
 * internal/artifacts/versions.go).
 */
export const VERSIONS: readonly string[] = [
  ...numbered('v1.10', 10),
  ...numbered('v1.11', 7),
  ...numbered('v1.12', 12),
  ...numbered('v1.13', 10),
  ...numbered('v1.14', 2),
  'v1.15.0-alpha.0',
]

function numbered(minor: string, count: number): string[] {
  return Array.from({ length: count }, (_, patch) => `${minor}.${patch}`)
}

/**
 * Parses a version in a path, with or without the `v`. @throws Error (500) if the text is no
 * version, `Missing` if the version doesn't exist
 */
export const versionOf = (text: string): string => {
  const version = text.startsWith('v') ? text : `v${text}`
  if (
    !/^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/.test(
      version,
    )
  )
    throw new Error(`error parsing version: Invalid character(s) found in "${version.slice(1)}"`)
  if (!VERSIONS.includes(version)) throw new Missing(`version ${version.slice(1)} is not available`)
  return version
}

/** Extensions of a tier. `since` is the first Talos minor with the extension. */
const tier =
  (name: 'core' | 'extra' | 'contrib') =>
  (version: string, does: string, since = 10) => ({ tier: name, version, does, since })
const core = tier('core')
const extra = tier('extra')
const contrib = tier('contrib')
/** Marks extensions whose version is the version of Talos, such as kernel modules. */
const OF_TALOS = ''
const NVIDIA_LTS = '580.159.03'
const NVIDIA = '595.58.03'

/**
 * Names and tiers are those of siderolabs/extensions, release-1.12 to release-1.14; the
 * descriptions are the simulation's own.
 */
const EXTENSIONS: Readonly<Record<string, ReturnType<typeof core>>> = {
  'amazon-ena': core('2.16.1', 'Driver of the Elastic Network Adapter.'),
  'amd-ucode': core('20260810', 'Microcode updates for AMD processors.'),
  amdgpu: core('20260810', 'Firmware and kernel modules for AMD graphics.'),
  'binfmt-misc': extra(OF_TALOS, 'Lets the kernel run binaries of other formats.'),
  bird2: contrib('2.18', 'The BIRD routing daemon.'),
  'bnx2-bnx2x': core('20260810', 'Firmware for Broadcom NetXtreme II network cards.'),
  btrfs: extra(OF_TALOS, 'Kernel module and tools for Btrfs.'),
  'chelsio-drivers': extra(OF_TALOS, 'Kernel modules for Chelsio network cards.'),
  'chelsio-firmware': contrib('20260810', 'Firmware for Chelsio network cards.'),
  cloudflared: contrib('2026.7.1', 'Tunnel daemon of Cloudflare as a service.'),
  crun: extra('1.26', 'The crun OCI runtime.'),
  ctr: core('v2.2.1', 'Command line of containerd, for debugging.'),
  drbd: extra('9.2.16', 'Kernel modules for DRBD replicated block devices.'),
  'dvb-cx23885': contrib(OF_TALOS, 'Kernel modules for CX23885 television cards.'),
  'ecr-credential-provider': extra('v1.36.1', 'Credentials of Amazon ECR for kubelet.'),
  fuse3: core('3.18.1', 'Userspace tools of FUSE.'),
  'gasket-driver': extra('97aeba5', 'Kernel modules for Coral Edge TPU.'),
  glibc: core('2.42', 'The GNU C library, for programs that are linked with it.'),
  'gpio-pinctrl': extra(OF_TALOS, 'Kernel modules for pins of single-board computers.'),
  gvisor: core('20260810.0', 'The gVisor sandbox as a runtime of containerd.'),
  'gvisor-debug': extra('v1.0.0', 'Debug logs of gVisor.'),
  hailort: extra('4.23.0', 'Driver and firmware for Hailo accelerators.'),
  'harbor-credential-provider': extra(
    'v0.2.0',
    'Credentials of a Harbor registry for kubelet.',
    14,
  ),
  'hyperv-guest-agent': extra(OF_TALOS, 'Guest agent for Hyper-V.', 14),
  i915: core('20260810', 'Firmware and kernel module for Intel graphics.'),
  'intel-ice-firmware': core('20260810', 'Firmware for Intel E800 network cards.'),
  'intel-npu': contrib('1.28.0', 'Driver and firmware for Intel neural processors.', 13),
  'intel-ucode': core('20260512', 'Microcode updates for Intel processors.'),
  'iscsi-tools': core('v0.2.0', 'iSCSI initiator, as Longhorn and others need it.'),
  joydev: extra(OF_TALOS, 'Kernel module for joysticks.', 13),
  'kata-containers': extra(
    '3.26.0',
    'Containers in virtual machines of their own, as a runtime of containerd.',
  ),
  'kata-containers-snp': extra('3.26.0', 'Kata Containers with AMD SEV-SNP.', 14),
  lldpd: extra('1.0.21', 'Announces the server and finds its neighbours by LLDP.'),
  mdadm: contrib('4.5', 'Tools for software RAID.'),
  mei: core(OF_TALOS, 'Kernel modules for the Intel management engine.'),
  'mellanox-mstflint': contrib('4.34.1', 'Firmware tools for Mellanox network cards.'),
  'metal-agent': core('v0.1.3', 'Agent mode for bare metal managed by Omni.'),
  'multipath-tools': extra('0.13.0', 'Multipath daemon, for storage with several paths.'),
  nebula: contrib('1.10.2', 'Overlay network of Nebula.'),
  netbird: contrib('0.64.3', 'Overlay network of NetBird.'),
  newt: contrib('1.9.0', 'Tunnel client of Pangolin.'),
  'nfs-utils': contrib('2.8.4', 'Locking for NFS mounts.'),
  nfsd: extra(OF_TALOS, 'Kernel module of the NFS server.'),
  nfsrahead: contrib('2.8.4', 'Read-ahead of NFS mounts.'),
  'nonfree-kmod-nvidia-lts': core(
    NVIDIA_LTS,
    'Proprietary kernel modules of NVIDIA, long-term branch.',
  ),
  'nonfree-kmod-nvidia-production': core(
    NVIDIA,
    'Proprietary kernel modules of NVIDIA, production branch.',
  ),
  'nut-client': contrib(
    '2.8.4',
    'Client of Network UPS Tools: shuts down when the battery is low.',
  ),
  'nvidia-container-toolkit-lts': core(
    `${NVIDIA_LTS}-v1.19.0`,
    'Container toolkit of NVIDIA, long-term branch.',
  ),
  'nvidia-container-toolkit-production': core(
    `${NVIDIA}-v1.19.0`,
    'Container toolkit of NVIDIA, production branch.',
  ),
  'nvidia-fabricmanager-lts': core(NVIDIA_LTS, 'Fabric manager for NVLink, long-term branch.'),
  'nvidia-fabricmanager-production': core(NVIDIA, 'Fabric manager for NVLink, production branch.'),
  'nvidia-gdrdrv-device': extra('v2.5.1', 'Device node of GPUDirect RDMA copies.'),
  'nvidia-open-gpu-kernel-modules-lts': core(
    NVIDIA_LTS,
    'Open kernel modules of NVIDIA, long-term branch.',
  ),
  'nvidia-open-gpu-kernel-modules-production': core(
    NVIDIA,
    'Open kernel modules of NVIDIA, production branch.',
  ),
  'nvme-cli': contrib('2.16', 'Command line for NVMe disks.'),
  panfrost: contrib(OF_TALOS, 'Kernel module for ARM Mali graphics.'),
  'px-fuse': extra('3.2.0', 'Kernel module of Portworx.', 13),
  qemu: contrib('10.2.0', 'Emulator and virtualizer QEMU.', 14),
  'qemu-guest-agent': extra('10.2.0', 'Guest agent for QEMU and KVM.'),
  'qlogic-firmware': core('20260810', 'Firmware for QLogic adapters.'),
  'realtek-firmware': core('20260810', 'Firmware for Realtek network cards.'),
  'revpi-firmware': contrib('20260206', 'Firmware for Revolution Pi.'),
  'rockchip-rknn': contrib('0.9.8', 'Driver for Rockchip neural processors.', 13),
  'soci-snapshotter': extra('v0.15.0', 'Pulls images lazily, by SOCI indices.'),
  spin: extra('v0.25.1', 'WebAssembly applications of Spin as a runtime of containerd.'),
  'stargz-snapshotter': core('v0.18.2', 'Pulls images lazily, by eStargz.'),
  tailscale: extra('1.98.2', 'Overlay network of Tailscale.'),
  tenstorrent: extra('2.6.0', 'Driver for Tenstorrent accelerators.'),
  thunderbolt: extra(OF_TALOS, 'Kernel modules for Thunderbolt and USB4.'),
  'trident-iscsi-tools': contrib('v0.1.1', 'iSCSI tools as NetApp Trident needs them.'),
  uhid: extra(OF_TALOS, 'Kernel module for input devices in user space.', 13),
  uinput: extra(OF_TALOS, 'Kernel module for input events from user space.'),
  'usb-audio-drivers': contrib(OF_TALOS, 'Kernel modules for USB sound.'),
  'usb-modem-drivers': extra(OF_TALOS, 'Kernel modules for USB modems.'),
  'util-linux-tools': contrib('2.42', 'A part of util-linux: fstrim, nsenter and others.'),
  'v4l-uvc-drivers': extra(OF_TALOS, 'Kernel modules for USB cameras.'),
  vc4: extra(OF_TALOS, 'Kernel modules for VideoCore graphics.'),
  'vmtoolsd-guest-agent': extra('v1.5.0', 'Guest agent for VMware.'),
  wasmedge: extra('v0.6.1', 'WebAssembly of WasmEdge as a runtime of containerd.'),
  'xdma-driver': extra('2020.2.2', 'Driver for Xilinx DMA.'),
  xe: core('20260810', 'Firmware and kernel modules for Intel Xe graphics.'),
  'xen-guest-agent': extra('0.5.0', 'Guest agent for Xen.'),
  youki: contrib('0.6.0', 'The youki OCI runtime.'),
  zerotier: contrib('1.16.0', 'Overlay network of ZeroTier.'),
  zfs: extra('2.4.1', 'Kernel module, tools and import service of ZFS.'),
}

/** Earlier names that the factory still accepts (image-factory: internal/profile/profile.go). */
const ALIASES: Readonly<Record<string, string>> = {
  'v4l-uvc': 'v4l-uvc-drivers',
  'usb-modem': 'usb-modem-drivers',
  gasket: 'gasket-driver',
  'talos-vmtoolsd': 'vmtoolsd-guest-agent',
  'xe-guest-utilities': 'xen-guest-agent',
  'nvidia-container-toolkit': 'nvidia-container-toolkit-lts',
  'nvidia-open-gpu-kernel-modules': 'nvidia-open-gpu-kernel-modules-lts',
  'nonfree-kmod-nvidia': 'nonfree-kmod-nvidia-lts',
  'i915-ucode': 'i915',
  'amdgpu-firmware': 'amdgpu',
}

/**
 * The extensions of a version, as `GET /version/<v>/extensions/official` returns them. The digests
 * are hashes of name and version.
 */
export const extensionsOf = (version: string) => {
  const minor = Number(version.split('.')[1])
  return Object.entries(EXTENSIONS)
    .filter(([, { since }]) => since <= minor)
    .map(([short, { tier: group, does, version: own }]) => {
      const ref = `ghcr.io/siderolabs/${short}:${own === OF_TALOS ? version : own}`
      return {
        name: `siderolabs/${short}`,
        ref,
        digest: `sha256:${createHash('sha256').update(`simulated ${ref} ${version}`).digest('hex')}`,
        author: 'Sidero Labs',
        description: `[${group}] ${does}\n`,
      }
    })
}

/**
 * The extensions of a schematic with their current names and versions. @throws Invalid if this
 * Talos version lacks one of them
 */
export const resolveExtensions = (names: readonly string[], version: string) => {
  const known = names.length === 0 ? [] : extensionsOf(version)
  return names.map((name) => {
    const short = name.replace(/^siderolabs\//, '')
    const found = known.find(
      (extension) => extension.name === name || extension.name === `siderolabs/${ALIASES[short]}`,
    )
    if (!found)
      throw new Invalid(
        `official extension ${JSON.stringify(name)} is not available for Talos version ${version}`,
      )
    return {
      name: found.name.replace(/^siderolabs\//, ''),
      version: found.ref.split(':')[1] ?? '',
      description: found.description.trim(),
    }
  })
}

/**
 * The extensions that machines with this version of Talos carry. Empty if the version lacks one of
 * them, because then no image exists.
 */
export const carriedExtensions = (
  names: readonly string[],
  version: string,
): ReturnType<typeof resolveExtensions> => {
  try {
    return resolveExtensions(names, version)
  } catch {
    return []
  }
}
