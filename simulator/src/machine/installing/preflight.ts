import { judgeConfig } from '../../config/judge.ts'
import { ConfigError, loadConfig } from '../../config/load.ts'
import { multiError } from '../../config/multi-error.ts'
import { hostVersionProblem, imageTag, minorOf } from '../../config/versions.ts'
import type { Machine } from '../machine.ts'

/**
 * Why an installer refuses an upgrade before it writes anything, or null. It reads the running
 * configuration by its own version's rules, then compares its version with the machine's (Talos:
 * cmd/installer/cmd/installer/install.go, pkg/install/preflight.go).
 */
export const installerProblem = (machine: Machine, image: string): string | null => {
  const version = imageTag(image) ?? ''
  return configProblem(machine, version) ?? preflightProblem(machine.talosVersion, version)
}

const configProblem = ({ config, hardware }: Machine, version: string): string | null => {
  // Without a configuration, in maintenance, the installer checks nothing.
  if (!config) return null
  try {
    const loaded = loadConfig(config.text, minorOf(version))
    const { errors, by } = judgeConfig(loaded, {
      talosVersion: version,
      installed: false,
      disks: hardware.disks,
    })
    const isInvalid = errors.length > 0 && by === 'validation'
    return isInvalid ? `machine configuration is invalid: ${multiError(errors)}` : null
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    return `error loading machine configuration: ${cause.message}`
  }
}

const preflightProblem = (host: string, version: string): string | null => {
  const problem = hostVersionProblem(host, version)
  return problem === null ? null : `pre-flight checks failed: ${problem}`
}
