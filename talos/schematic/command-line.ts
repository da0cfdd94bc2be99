/**
 * The kernel command line with which an image of a schematic boots, as Talos's imager composes it
 * (`pkg/imager/imager.go` buildCmdline, `pkg/machinery/kernel/kernel.go`,
 * `pkg/machinery/imager/quirks`, `platform/metal/metal.go` KernelArgs, all at the versions of
 * `versions.ts`).
 */
import { has } from '../versions.ts'

export interface Boot {
  /** `v1.13.9` */
  readonly talosVersion: string
  readonly arch: 'amd64' | 'arm64'
  readonly secureboot: boolean
}

/** Talos's default arguments on bare metal. */
function defaults({ talosVersion, arch, secureboot }: Boot): string[] {
  return [
    'talos.platform=metal',
    ...(arch === 'arm64' ? ['console=ttyAMA0'] : []),
    'console=tty0',
    'init_on_alloc=1',
    'slab_nomerge=',
    'pti=on',
    'consoleblank=0',
    'nvme_core.io_timeout=4294967295',
    'printk.devkmsg=on',
    'selinux=1',
    'module.sig_enforce=1',
    ...(has(talosVersion, 'procMemOverride') ? ['proc_mem.force_override=never'] : []),
    ...(secureboot ? ['lockdown=confidentiality'] : []),
  ]
}

/** Values by key, in the order of first appearance. `key` and `key=` are the same. */
type Parameters = Map<string, string[]>

function parse(args: readonly string[]): Parameters {
  const parameters: Parameters = new Map()
  for (const arg of args) {
    const at = arg.indexOf('=')
    const [key, value] = at < 0 ? [arg, ''] : [arg.slice(0, at), arg.slice(at + 1)]
    parameters.set(key, [...(parameters.get(key) ?? []), value])
  }
  return parameters
}

/** For these keys, extra arguments replace the default; for others they are added. */
const replaced = new Set(['console', 'talos.platform'])

/**
 * @param extra the schematic's `extraKernelArgs`. `-key` removes all values of a key, `-key=value`
 * removes one value.
 * @returns the command line, without `talos.halt_if_installed=1`, which an ISO adds
 */
export function kernelCommandLine(boot: Boot, extra: readonly string[]): string {
  const line = parse(defaults(boot))
  for (const [key, values] of parse(extra)) {
    // `-` alone is a kernel argument.
    if (key.length > 1 && key.startsWith('-')) {
      const negated = key.slice(1)
      if (values[0] === '') line.delete(negated)
      else
        line.set(
          negated,
          (line.get(negated) ?? []).filter((value) => !values.includes(value)),
        )
    } else line.set(key, replaced.has(key) ? values : [...(line.get(key) ?? []), ...values])
  }
  return [...line]
    .flatMap(([key, values]) => values.map((value) => (value === '' ? key : `${key}=${value}`)))
    .join(' ')
}
