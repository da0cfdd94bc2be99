/** The disk that Talos is installed on. */
import { put, type Settable } from './home.ts'

export interface InstallDisk {
  /** `/dev/nvme0n1` */
  readonly device: string
  /** By which Talos finds the disk under any name; null if the disk has none. */
  readonly wwid: string | null
}

/** An expression, as Talos's own generator writes it (`config/generate/init.go`). */
const matchPath = 'provisioning.diskSelector.match'
export const installDisk: Settable<InstallDisk> = {
  main: {
    kind: '',
    paths: ['machine.install.disk', 'machine.install.diskSelector'],
    // In Talos the selector takes precedence over the disk's name (v1alpha1_types.go,
    // InstallDiskSelector); the name is only for readers.
    write: (root, { device, wwid }) =>
      put(
        put(root, 'machine.install.disk', device),
        'machine.install.diskSelector',
        wwid === null ? undefined : { wwid },
      ),
  },
  document: {
    kind: 'UnattendedInstallConfig',
    paths: [matchPath],
    // Unlike in the main document, `wipe` is true if it is unset.
    write: (root, { device, wwid }) =>
      put(
        put(
          root,
          matchPath,
          wwid === null
            ? `disk.dev_path == ${JSON.stringify(device)}`
            : `disk.wwid == ${JSON.stringify(wwid)}`,
        ),
        'provisioning.wipe',
        false,
      ),
  },
}
