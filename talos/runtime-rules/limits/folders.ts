/**
 * What Talos's root file system has. It is read-only but for some folders, so that nothing can be
 * made elsewhere.
 */
import { inImage } from '../files.ts'

const words = (text: string): string[] => text.trim().split(/\s+/)

/** Folders at the top, of the image (`Dockerfile`, rootfs; siderolabs/pkgs `fhs/pkg.yaml`). */
const ofRoot = new Set(
  words('boot dev etc mnt opt proc root run sys system tmp usr var').map((name) => `/${name}`),
)
/** Links at the top and in /usr (`fhs/pkg.yaml`). */
const links = new Map([
  ['/bin', '/usr/bin'],
  ['/sbin', '/usr/bin'],
  ['/lib', '/usr/lib'],
  ['/lib64', '/usr/lib'],
])

/** Folders of the image below these (`Dockerfile`), some of them links to /etc/ssl. */
const ofImage = new Set(
  [
    '/boot/EFI',
    ...words(
      `ca-certificates cni cni/net.d containerd cri cri/conf.d cri/conf.d/hosts iscsi kubernetes lvm
      nvme pki selinux selinux/targeted ssl ssl/certs`,
    ).map((name) => `/etc/${name}`),
    ...words(
      `bin etc lib lib64 lib/firmware lib/modules lib/udev lib/udev/rules.d libexec local local/lib
      local/lib/kubelet local/lib/kubelet/credentialproviders local/share
      local/share/ca-certificates sbin share share/ca-certificates share/spdx share/zoneinfo
      share/zoneinfo/Etc`,
    ).map((name) => `/usr/${name}`),
  ].concat([...ofRoot]),
)

/**
 * Folders that can be written to (`pkg/machinery/constants`, Overlays; since 1.14
 * `runtime/v1alpha2/etc_overlay.go` for those of /etc), and those whose content depends on the
 * kernel. /usr/libexec/kubernetes is one until 1.13.
 */
const open =
  /^\/(?:dev|opt|proc|run|sys|system|tmp|var|etc\/cni|etc\/kubernetes|usr\/libexec\/kubernetes|usr\/lib\/(?:firmware|modules))\//

/** Where the image has folders that aren't all known; extensions bring more. */
const mixed = /^\/(?:etc|usr)\//

/** The path of a folder without empty parts, dots and links at the top. */
export function folderOf(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  const top = `/${parts[0] ?? ''}`
  return [links.get(top) ?? top, ...parts.slice(1)].join('/')
}

/**
 * What Talos has at a path: a folder or a place where one can be made, a file, nothing, or nothing
 * that is known.
 * @param folder as of `folderOf`
 */
export function placeOf(folder: string): 'folder' | 'file' | 'nothing' | 'unknown' {
  if (inImage.has(folder)) return 'file'
  if (folder === '/' || ofImage.has(folder) || open.test(`${folder}/`)) return 'folder'
  return mixed.test(folder) ? 'unknown' : 'nothing'
}
