/** Extensions and kernel arguments of an image: what users choose of its schematic. */
import * as z from 'zod/mini'

export const imageLimits = {
  extensions: 64,
  kernelArgs: 32,
  kernelArgLength: 1024,
  /**
   * Linux silently truncates a kernel command line of 2048 characters or more (`COMMAND_LINE_SIZE`
   * on amd64 and arm64). This limit leaves room for the arguments that an ISO and Talos's boot menu
   * add (`talos.halt_if_installed=1`, `talos.experimental.wipe=system:EPHEMERAL,STATE`).
   */
  kernelCommandLine: 1960,
} as const

/**
 * Why an image must not have a kernel argument, or null: arguments of an image stay in the installed
 * system and act at each boot (Talos `pkg/machinery/constants`; `v1alpha1_sequencer.go`, Boot).
 */
function kernelArgProblem(arg: string): string | null {
  // The kernel removes quotes around an argument.
  const [key = '', value = ''] = arg.replaceAll('"', '').split(/=(.*)/s)
  if (key === 'talos.experimental.wipe')
    return 'With talos.experimental.wipe the server wipes its disk at each boot. For one wipe choose “Reset Talos installation” in the boot menu'
  if (key === 'talos.halt_if_installed' && /^(?:1|t|true)$/i.test(value))
    return 'With talos.halt_if_installed the server stops at each boot after its installation'
  if (key !== 'vlan') return null
  // `vlan=eth0.100:eth0` or `vlan=vlan100:eth0` (Talos `network/cmdline.go`).
  const id = /^(?:[^.:]+\.|vlan)(\d+):[^:]+$/.exec(value)?.[1]
  return id === undefined || Number(id) < 1 || Number(id) > 4094
    ? 'A VLAN is written as vlan=eth0.100:eth0, with an id from 1 to 4094'
    : null
}

const kernelArg = z.string().check(
  z.trim(),
  z.minLength(1),
  z.maxLength(imageLimits.kernelArgLength, 'A kernel argument has at most 1024 characters'),
  z.regex(/^[\x21-\x7e]+$/, 'A kernel argument has no spaces and only ASCII characters'),
  // Compared without quotes, because the kernel removes quotes around an argument.
  z.refine(
    (arg) =>
      !/^-?(?:talos\.config(?:\.[\w.-]+)?|siderolink\.api|talos\.platform)(?:=|$)/.test(
        arg.replaceAll('"', ''),
      ),
    {
      error: 'This argument is set by Steelyard: it is how a server announces itself',
    },
  ),
  z.refine((arg) => kernelArgProblem(arg) === null, {
    error: ({ input }) => kernelArgProblem(String(input))!,
  }),
)

/** Names of extensions that an image contains. */
export const ExtensionNames = z
  .array(
    z
      .string()
      .check(
        z.regex(/^[a-z0-9-]+\/[a-z0-9._-]+$/, 'Enter an extension name such as siderolabs/gvisor'),
      ),
  )
  .check(z.maxLength(imageLimits.extensions))
/** Kernel arguments of an image, without the one with which a server announces itself. */
export const KernelArgs = z.array(kernelArg).check(z.maxLength(imageLimits.kernelArgs))
