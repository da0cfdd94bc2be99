/** Finds out what fails on a machine, from its log and its events. */
import type { CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import { TalosError } from './errors.ts'
import type { TalosEvent } from './events.ts'
import { installerError, withoutUsage } from './installer-output.ts'
import { messageText, text } from './text.ts'

/**
 * Number of log lines to read. A registry that doesn't answer fills the log only slowly, with few
 * kinds of lines.
 */
const tailLines = 500
const keptLines = 200
const tailEvents = 200
/** Maximum characters of a shown line: the installer's log repeats whole requests. */
const lineLength = 300
/** Maximum characters of a line that is searched for a reason. */
const readLength = 4_000

/** What fails on a machine, with its last log lines. */
export type Trouble = ReturnType<typeof troubleIn>

/**
 * What fails in this boot. A reboot clears events and log. The log is read before the events,
 * because the event stream has no end and a machine restarts seconds after a failure. Throws
 * TalosError.
 */
export async function readTrouble(
  client: TalosClient,
  options: CallOptions = {},
): Promise<Trouble> {
  const log = await newestLog(client, options)
  const told = troubleIn(log)
  return told.reason === null ? troubleIn(log, await pastEvents(client, tailEvents, options)) : told
}

/**
 * The newest lines of the kernel's log, which has the messages of machined and of the installer,
 * but no line for each API call. Since Talos 1.13 the tail of this log can be read
 * (`kmsg_log_storage.go`); earlier versions send the whole log. If the machine refuses to send the
 * kernel's log, returns machined's own log.
 */
export async function newestLog(client: TalosClient, options: CallOptions): Promise<string> {
  const whole = async (parts: AsyncIterable<Uint8Array>): Promise<string> =>
    Buffer.concat(await Array.fromAsync(parts)).toString('utf8')
  const ways = [
    () => client.logs({ service: 'kernel', tail: tailLines }, options),
    () => client.dmesg({}, options),
    () => client.logs({ service: 'machined', tail: tailLines }, options),
  ]
  for (const [i, way] of ways.entries()) {
    try {
      return await whole(way())
    } catch (error) {
      const isMissing =
        error instanceof TalosError &&
        ['not_found', 'unimplemented', 'permission_denied'].includes(error.kind)
      if (!isMissing || i === ways.length - 1) throw error
    }
  }
  return ''
}

interface Line {
  /** The line without time, facility and priority. */
  readonly said: string
  readonly isOfKernel: boolean
}

// How lines begin: `user: warning: [2026-11-20T21:57:48.573137Z]: …` in the kernel's log,
// `2026/11/20 21:57:48.573137 …` in machined's log.
const beginning =
  /^(?:(\w+): +\w+: \[[^\]]{1,64}\]: |\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? )/
// A line about an API call (Talos `pkg/grpc/middleware/log/log.go`): `OK
// [/machine.MachineService/Version] 1ms unary Success (…)`.
const ofACall = /^(?:machined |\[talos\] )?\w+ \[\/[\w.]+\/\w+\] \S+ (?:unary|stream) /
// Lines of machined about a sequence, and not of a controller or a service, which log at any time
// (`v1alpha1_controller.go`, `install.go`, go-retry, `main.go`).
const ofASequence =
  /^(?:(?:task|phase) [\w-]+ \(\d+\/\d+\)|\w+ sequence: |pulling |retrying error: |rebooting in )/

function lineOf(raw: string): Line {
  const found = beginning.exec(raw)
  return {
    said: raw
      .slice(found?.[0].length ?? 0)
      .trimEnd()
      .slice(0, readLength),
    isOfKernel: found?.[1] === 'kern',
  }
}

/** The messages of a log without times, facilities, priorities and API calls, oldest first. */
export const saidIn = (log: string): string[] =>
  log
    .split('\n')
    .map((line) => lineOf(line).said)
    .filter((said) => said !== '' && !ofACall.test(said))

export function troubleIn(log: string, events: readonly TalosEvent[] = []) {
  const raw = log.split('\n').map((line) => ({ ...lineOf(line), raw: line }))
  // The usage of the installer has empty lines.
  const lines = withoutUsage(
    raw.filter(({ said }) => !ofACall.test(said)),
    ({ said, isOfKernel }) => (isOfKernel || said.startsWith('[talos] ') ? null : said),
  ).filter((line) => line.raw.trim() !== '')
  const told = toldInLog(raw)
  const reason = told.reason ?? failedVolume(raw) ?? toldInEvents(events)
  const cut = (said: string | null): string | null =>
    said === null ? null : withoutPeriod(messageText(said, 1_000).trim())
  const isInstallSkipped = lines.some(({ said }) => said === '[talos] install sequence: 0 phase(s)')
  const current = lines.slice(sequenceBegin(lines))
  const last = current.findLast(isOfStep)?.said.replace(/^\[talos\] /, '')
  return {
    /**
     * Why the machine fails, in the words of its log or events, without a period at the end; null
     * if nothing fails in this boot.
     */
    reason: cut(reason),
    /**
     * Whether Talos skipped the installation in this boot, because it found META on a disk
     * (`v1alpha1_sequencer.go`, Install: a sequence without phases).
     */
    isInstallSkipped,
    /**
     * Why the last installation that Talos 1.14 has carried out while it boots has failed; null if
     * none has failed, or the next one has succeeded. What else the boot does changes nothing.
     */
    installFailure: cut(told.unattended),
    /** The last message of Talos or the installer about the running sequence, or null. */
    last: last === undefined ? null : text(last.replaceAll('\t', ' ')),
    /**
     * The phase of a restart that runs or has failed, such as `volumeFinalize (7/10)`; null if no
     * restart has begun.
     */
    restartPhase: restartPhase(current),
    /** Oldest first, safe to show, without repeated lines and usage texts. */
    lines: shown(current),
  }
}

/** For a sentence that goes on. */
const withoutPeriod = (said: string): string => (/[^.]\.$/.test(said) ? said.slice(0, -1) : said)

/**
 * Whether a line is about the running sequence: a message of its tasks, or one of the installer,
 * which is a program of its own.
 */
const isOfStep = ({ said, isOfKernel }: Line): boolean =>
  said.startsWith('[talos] ')
    ? ofASequence.test(said.slice('[talos] '.length))
    : !isOfKernel && said !== '' && !said.startsWith('level=')

function restartPhase(current: readonly Line[]): string | null {
  if (!/^\[talos\] reboot sequence: \d+ phase/.test(current[0]?.said ?? '')) return null
  const phases = current.flatMap(
    ({ said }) => /^\[talos\] phase ([\w-]{1,64} \(\d+\/\d+\)): \d/.exec(said)?.[1] ?? [],
  )
  return phases.at(-1) ?? null
}

/**
 * Index of the line with which the newest sequence begins (`install sequence: 9 phase(s)`). Earlier
 * lines, such as those in maintenance, are irrelevant.
 */
const sequenceBegin = (lines: readonly Line[]): number =>
  Math.max(
    0,
    lines.findLastIndex(({ said }) => /^\[talos\] \w+ sequence: [1-9]\d* phase\(s\)/.test(said)),
  )

function shown(lines: readonly (Line & { raw: string })[]): string[] {
  const kept: { said: string; line: string; times: number }[] = []
  for (const { said, raw } of lines) {
    const last = kept.at(-1)
    if (last?.said === said) last.times++
    else kept.push({ said, line: text(raw.trimEnd().replaceAll('\t', ' '), lineLength), times: 1 })
  }
  return kept
    .slice(-keptLines)
    .map(({ line, times }) => (times === 1 ? line : `${line} (${times} times)`))
}

/** Sequences whose own failures are no cause, and that end the tasks of another one. */
const restarts: ReadonlySet<string> = new Set(['reboot', 'reset', 'shutdown'])

/**
 * The last failure in the log, unless a success followed. Talos logs `task … (1/1): failed: …`
 * (`v1alpha1_controller.go`), `retrying error: …` once for each distinct error (go-retry),
 * `level=info msg=fetch failed error=…` for each response of a registry
 * (`containers/image/pull.go`). A failed installation while Talos 1.14 boots is a failed controller.
 * The message of the installer counts too: the installer is a
 * separate program (`internal/pkg/install/install.go`). A restart ends the tasks of the sequence
 * that it takes over from (`context canceled`), and its own tasks may fail: both are no reasons.
 */
function toldInLog(lines: readonly Line[]): {
  reason: string | null
  unattended: string | null
} {
  let reason: string | null = null
  let lastUnattended: string | null = null
  let isOfPull = false
  let isRestart = false
  let installer: string[] = []
  for (const { said, isOfKernel } of lines) {
    if (ofACall.test(said)) continue
    const sequence = /^\[talos\] (\w+) sequence: \d+ phase/.exec(said)?.[1]
    if (sequence !== undefined) isRestart = restarts.has(sequence)
    const failed = /^\[talos\] task [\w-]+ \(\d+\/\d+\): failed: (.+)$/.exec(said)?.[1]
    const retried = /^\[talos\] (?:task [\w-]+ \(\d+\/\d+\): )?retrying error: (.+)$/.exec(
      said,
    )?.[1]
    const unattended = failedUnattended(said)
    const fetched = /^level=\w+ msg="?fetch failed"? /.test(said) ? errorField(said) : undefined
    const told = failed ?? unattended ?? retried
    if (told !== undefined && (isRestart || /\bcontext canceled$/.test(told))) continue
    const ended = failed ?? unattended
    if (said.startsWith('[talos] install successful {')) lastUnattended = null
    if (unattended !== undefined) lastUnattended = withInstaller(unattended, installer)
    if (ended !== undefined) reason = withInstaller(ended, installer)
    else if (retried !== undefined) [reason, isOfPull] = [retried, true]
    else if (fetched !== undefined)
      [reason, isOfPull] = reason === null ? [`fetch failed: ${fetched}`, true] : [reason, isOfPull]
    else if (
      !isRestart &&
      /^\[talos\] (?:(?:task|phase) [\w-]+ \(\d+\/\d+\)|\w+ sequence): done\b/.test(said)
    )
      reason = null
    // The registry has the image after all. `starting` proves nothing, because every attempt begins
    // with it (`image/console/progress.go`).
    else if (isOfPull && /^\[talos\] pulling image \S+: (?:downloading|extracting)/.test(said))
      reason = null
    if (ended !== undefined) isOfPull = false
    if (said.startsWith('[talos] task install ') || said.startsWith('[talos] installing Talos {'))
      installer = []
    else if (!isOfKernel && !said.startsWith('[talos] ') && !said.startsWith('level=')) {
      installer.push(said.replace(/^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d /, ''))
      // The installer runs, so earlier errors of the pull no longer matter.
      if (said.startsWith('running Talos installer')) reason = null
    }
  }
  return { reason, unattended: lastUnattended }
}

/**
 * The error of an installation that Talos 1.14 carries out while it boots, and will try again
 * (`controllers/runtime/unattended_install.go`, and `run.go` of cosi-project/runtime).
 */
function failedUnattended(said: string): string | undefined {
  const mark = '"runtime.UnattendedInstallController", "error": "failed to run installer: '
  const at = said.startsWith('[talos] controller failed {') ? said.indexOf(mark) : -1
  if (at < 0) return undefined
  const error = said.slice(at + mark.length).replaceAll(String.raw`\"`, '"')
  return error.endsWith('"}') ? error.slice(0, -2) : error
}

/** Volumes without which Talos does not go on with its boot. */
const neededVolumes: ReadonlySet<string> = new Set(['META', 'STATE', 'EPHEMERAL'])
// `[talos] volume status {…, "volume": "EPHEMERAL", "phase": "waiting -> failed", "error": "…"}`
// (`controllers/block/volume_manager.go`).
const volumeStatus =
  /^\[talos\] volume status \{"component": "controller-runtime", "controller": "block\.VolumeManagerController", "volume": "([\w-]{1,64})", "phase": "[\w-]+ -> ([\w-]+)"(?:, "error": "((?:[^"\\]|\\.)*)")?/

/**
 * Why Talos can't have a volume that its boot waits for, such as a disk that no selector matches
 * (siderolabs/talos#9394). A restart closes all volumes, which is no failure.
 */
function failedVolume(lines: readonly Line[]): string | null {
  const failed = new Map<string, string>()
  let isRestart = false
  for (const { said } of lines) {
    const sequence = /^\[talos\] (\w+) sequence: \d+ phase/.exec(said)?.[1]
    if (sequence !== undefined) isRestart = restarts.has(sequence)
    const [, volume = '', phase, error = ''] = volumeStatus.exec(said) ?? []
    if (!neededVolumes.has(volume)) continue
    if (phase !== 'failed') failed.delete(volume)
    else if (!isRestart && error !== '') failed.set(volume, error.replaceAll(String.raw`\"`, '"'))
  }
  const [first] = failed
  return first === undefined ? null : `the volume ${first[0]} has failed: ${first[1]}`
}

/** The failure of a task, with the error of the installer if only its exit code is known. */
function withInstaller(failed: string, said: readonly string[]): string {
  if (!/failed: exit code \d+$/.test(failed)) return failed
  const error =
    installerError(said) ?? lastError(withoutUsage(said, (line) => line).filter((l) => l !== ''))
  return error === undefined ? failed : `${failed}: ${error}`
}

/**
 * The error at the end of an installer's output without a prefix, as since Talos 1.14: from the last
 * line that begins as the errors of Talos do, because an error may have several lines; otherwise the
 * last line.
 */
function lastError(lines: readonly string[]): string | undefined {
  const at = lines.findLastIndex((line) => line.startsWith('failed to '))
  return at < 0 ? lines.at(-1) : lines.slice(at).join(' ')
}

/**
 * The field `error` of a log line with `name=value` fields. The value may be unquoted and followed
 * by further fields.
 */
function errorField(line: string): string | undefined {
  const at = line.indexOf(' error=')
  if (at < 0) return undefined
  const value = line.slice(at + ' error='.length)
  if (value.startsWith('"'))
    return (
      value.slice(1, value.indexOf('"', 1) < 0 ? undefined : value.indexOf('"', 1)) || undefined
    )
  const words = value.split(' ')
  while (words.length > 1 && /^\w+=/.test(words.at(-1)!)) words.pop()
  return words.join(' ') || undefined
}

/**
 * The failure in the events: a failed sequence, a refused configuration, or a failing service's
 * last message.
 */
function toldInEvents(events: readonly TalosEvent[]): string | null {
  let sequence: string | null = null
  let config: string | null = null
  const services = new Map<string, string>()
  for (const event of events) {
    // A sequence that was not started, or that another one has ended, is no failure, and neither is
    // one of a restart.
    const isFailure =
      event.kind === 'sequence' &&
      event.error !== '' &&
      !event.error.startsWith('sequence not started') &&
      !/\bcontext canceled$/.test(event.error)
    if (isFailure && !restarts.has(event.sequence)) sequence = event.error
    if (event.kind === 'config_error') config = event.error
    if (event.kind === 'machine_status' && event.stage === 'maintenance') config = null
    if (event.kind !== 'service') continue
    if (event.action === 'failed' || /^failed\b/i.test(event.message))
      services.set(event.service, `${event.service}: ${event.message}`)
    else if (event.action === 'running' || event.action === 'finished')
      services.delete(event.service)
  }
  // Keeps only the cause of `sequence failed: error running phase 2 in install sequence: task 1/1:
  // failed, …`.
  const shorter =
    sequence?.replace(
      /^sequence failed: error running phase \d+ in \w+ sequence: task \d+\/\d+: failed, /,
      '',
    ) ?? null
  return shorter ?? config ?? [...services.values()].at(-1) ?? null
}

/**
 * The event stream never ends. Past events arrive at once, so this many milliseconds without an
 * event mark their end.
 */
const quietMs = 300
/** Time limit for all past events, in milliseconds. */
const withinMs = 1_500

/**
 * The last `most` past events, oldest first; if the machine is slow, only those that arrive in
 * time. Throws TalosError.
 */
export async function pastEvents(
  client: TalosClient,
  most: number,
  options: CallOptions = {},
): Promise<TalosEvent[]> {
  const found: TalosEvent[] = []
  const over = new AbortController()
  const stop = AbortSignal.any([over.signal, AbortSignal.timeout(withinMs)])
  let quiet: NodeJS.Timeout | undefined
  try {
    const signal = options.signal === undefined ? stop : AbortSignal.any([stop, options.signal])
    for await (const event of client.events({ tail: most }, { ...options, signal })) {
      clearTimeout(quiet)
      quiet = setTimeout(() => over.abort(), quietMs)
      found.push(event)
      if (found.length >= most) break
    }
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    clearTimeout(quiet)
  }
  return found
}
