import { ConfigLoadErrorEventSchema } from '#talos/proto/gen/machine/machine_pb.ts'
import { Interrupted } from '../clock.ts'
import { judgeConfig, multiError } from '../config/judge.ts'
import { loadConfig } from '../config/load.ts'
import { download, populate, unpacked } from './download.ts'
import { configUrl } from './kernel-line.ts'
import type { ActiveConfig, Machine } from './machine.ts'

/** Limit of an attempt, half of it for variables that aren't known yet (Talos: constants.ConfigLoadAttemptTimeout). */
const ATTEMPT_MS = 180_000
/** Minimum limit at any speed of the simulation, because the answering server runs in real time. */
const LEAST_ATTEMPT_MS = 3_000
const SECOND_MS = 1_000
/** Longest pause before Talos's controllers retry a failed attempt. */
const MOST_BETWEEN_MS = 60_000

/**
 * Downloads the configuration that `talos.config` names, complete or partial (Talos: pkg/download and internal/app/machined/pkg/controllers/config/acquire.go).
 * Any status other than 200 and 204 is retried with growing pauses, and so is an answer without a valid document, including an empty one. Until then the machine
 * doesn't enter maintenance. Null if no URL is named. Rejects with `Interrupted` when the machine is interrupted.
 */
export const acquireConfig = async (machine: Machine, signal: AbortSignal): Promise<ActiveConfig | null> => {
  const source = configUrl(machine.kernelCommandLine)
  if (source === null) return null
  for (let round = 0; ; round++) {
    const body = await fetched(machine, source, signal)
    const problem = problemOf(machine, body)
    if (problem === null) {
      machine.journal.kernel('[talos] machine config loaded successfully, source: metal')
      return machine.activate(unpacked(body))
    }
    machine.journal.kernel(`[talos] failed to load config via platform metal: ${problem}`)
    machine.journal.event(ConfigLoadErrorEventSchema, { error: problem })
    await machine.takes(Math.min(MOST_BETWEEN_MS, SECOND_MS * 1.5 ** round), signal)
  }
}

const problemOf = (machine: Machine, body: Buffer): string | null => {
  try {
    const text = unpacked(body)
    if (text.trim() === '') return 'config not found'
    const loaded = loadConfig(text, machine.talosMinor)
    if (!loaded.v1alpha1 && loaded.documents.length === 0) return 'config not found'
    const installed = machine.disk.state.installed !== null
    const { errors } = judgeConfig(loaded, { talosVersion: machine.talosVersion, installed, disks: machine.hardware.disks })
    return errors.length > 0 ? multiError(errors) : null
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

/** Downloads until the answer is 200 or 204. The pauses are 0.5 s, 1.5 s, 3.5 s and so on, each plus up to a second. */
const fetched = async (machine: Machine, source: string, signal: AbortSignal): Promise<Buffer> => {
  for (let attempt = 1; ; attempt++) {
    const { url, missing } = populate(source, machine.announced)
    if (missing.length > 0) {
      machine.journal.kernel(`[talos] waiting for URL variables: ${missing.join(', ')}`)
      await machine.takes(ATTEMPT_MS / 2, signal)
    }
    machine.journal.kernel(`[talos] fetching machine config from: "${url}"`)
    try {
      const limit = AbortSignal.timeout(Math.max(LEAST_ATTEMPT_MS, ATTEMPT_MS / machine.world.clock.speed))
      const { status, body } = await download(url, machine.plan.address, AbortSignal.any([signal, limit]))
      if (status === 200 || status === 204) return body
      machine.journal.kernel(`[talos] failed to download config from "${source}": status code ${status}, body ${JSON.stringify(body.toString('utf8', 0, 32))}`)
    } catch (cause) {
      if (signal.aborted) throw new Interrupted()
      machine.journal.kernel(`[talos] failed to download config from "${source}": ${cause instanceof Error ? cause.message : String(cause)}`)
    }
    const backoff = ((2 ** attempt - 1) / 2) * SECOND_MS
    await machine.takes(Math.min(ATTEMPT_MS, backoff) + Math.random() * SECOND_MS, signal)
  }
}
