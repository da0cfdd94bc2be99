import type { Disk } from '../fleet/hardware.ts'
import { judgeDocuments } from './judge-documents.ts'
import { judgeDisks, judgeKubernetes, judgeMain } from './judge-main.ts'
import { judgeConflicts, judgeWhole } from './judge-whole.ts'
import { ConfigError, loadConfig, type Loaded } from './load.ts'
import { multiError } from './multi-error.ts'
import { object } from './shape.ts'
import { hasFeature, minorOf } from './versions.ts'

export interface Circumstances {
  talosVersion: string
  installed: boolean
  disks: readonly Disk[]
}

export interface Judgement {
  errors: string[]
  warnings: string[]
  /**
   * The step that found the first errors: `validation` checks the configuration alone, `runtime` then
   * checks the configuration against this machine.
   */
  by: 'validation' | 'runtime'
}

/**
 * Validates a loaded configuration in the order and words of Talos (pkg/machinery/config/container,
 * and types/v1alpha1/v1alpha1_validation.go in metal mode), with warnings. All errors of the main
 * document form one error with a nested list.
 */
export const judgeConfig = (
  loaded: Loaded,
  { talosVersion, installed, disks }: Circumstances,
): Judgement => {
  const minor = minorOf(talosVersion)
  const warnings: string[] = []
  const { v1alpha1 } = loaded
  const main = v1alpha1 ? judgeMain(loaded, v1alpha1, { installed, minor }, warnings) : []
  const judgesTogether = hasFeature(minor, 'neverReboots')
  if (v1alpha1 && judgesTogether) main.push(...judgeKubernetes(v1alpha1, talosVersion))
  const errors = [
    ...listed(main),
    ...judgeDocuments(loaded, talosVersion, warnings),
    ...judgeConflicts(loaded),
    ...(judgesTogether ? judgeWhole(loaded, warnings) : []),
  ]
  if (!v1alpha1 || (errors.length > 0 && !judgesTogether))
    return { errors, warnings, by: 'validation' }
  const found = [
    ...judgeDisks(object(v1alpha1.machine), installed, disks, talosVersion, warnings),
    ...(judgesTogether ? [] : judgeKubernetes(v1alpha1, talosVersion)),
  ]
  const by = errors.length > 0 ? 'validation' : 'runtime'
  return { errors: [...errors, ...listed(found)], warnings, by }
}

const listed = (errors: readonly string[]): string[] =>
  errors.length === 0 ? [] : [`v1alpha1.Config: ${multiError(errors)}`]

/**
 * Why a machine doesn't boot with its stored configuration, or null. Since Talos 1.14, the versions
 * of Kubernetes are checked at each boot too (Talos: controllers/config/acquire.go).
 */
export const bootProblem = (source: string, circumstances: Circumstances): string | null => {
  const minor = minorOf(circumstances.talosVersion)
  let loaded: Loaded
  try {
    loaded = loadConfig(source, minor)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    return `failed to load config from STATE: ${cause.message}`
  }
  const { errors, by } = judgeConfig(loaded, { ...circumstances, installed: true })
  return errors.length === 0 || (by === 'runtime' && !hasFeature(minor, 'kubernetesAtBoot'))
    ? null
    : `failed to validate on-disk config: ${multiError(errors)}`
}
