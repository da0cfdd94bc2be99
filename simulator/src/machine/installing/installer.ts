import { minorOf } from '../../config/versions.ts'

/**
 * What Talos's installer prints, a separate program whose output goes to the kernel's log, or to
 * the caller of the LifecycleService.
 */

/**
 * The usage that cobra prints after each error, up to Talos 1.13 (Talos:
 * cmd/installer/cmd/installer/root.go).
 */
const usage = `Usage:
  installer install [flags]

Flags:
  -h, --help   help for install

Global Flags:
      --arch string                    The target architecture (default "amd64")
      --config string                  The value of talos.config
      --disk string                    The path to the disk to install to
      --extra-kernel-arg stringArray   Extra argument to pass to the kernel
      --force                          Indicates that the install should forcefully format the partition
      --meta metaValueSlice            A key/value pair for META
      --platform string                The value of talos.platform
      --upgrade                        Indicates that the install is being performed by an upgrade
      --zero                           Indicates that the install should write zeros to the disk before installing
`

/**
 * The lines with which an installer ends after an error. Up to Talos 1.13, cobra prints it, then its
 * usage, and main prints the error again.
 */
export const failureOutput = (error: string, version: string): string[] =>
  (minorOf(version) >= 14 ? error : `Error: ${error}\n${usage}\n${error}`).split('\n')

/**
 * The error of a `grub-install` that fails, with what the program said (Talos:
 * bootloader/grub/install.go).
 */
export const grubError = (disk: string): string =>
  `failed to install bootloader: failed to install grub: exit status 1: Installing for i386-pc platform.
grub-install: error: cannot write to \u2018/dev/${disk}\u2019: Input/output error.`
