import type { Machine } from './machine.ts'
import { TAKES } from './durations.ts'

/**
 * Goes back to another configuration after a time, unless the returned function is called before.
 * The timer is in memory only. A time of 0 or less has passed at once. The time is real at every
 * speed of the simulation, because the caller compares it with its own clock.
 */
export const revertAfter = (
  machine: Machine,
  afterMs: number,
  revert: () => Promise<void>,
): (() => void) => {
  const timer = setTimeout(
    () => {
      machine.cancelTry = null
      machine.journal.kernel('[talos] reverting the configuration that was applied in try mode')
      void revert().catch((cause: unknown) =>
        machine.world.say(`${machine.plan.name}: ${String(cause)}`),
      )
    },
    Math.max(0, afterMs),
  )
  timer.unref()
  return () => clearTimeout(timer)
}

/** A duration as Go writes it: `1m0s`, `1.5s` (Go: time.Duration.String). */
export const goDuration = (ms: number): string => {
  if (ms === 0) return '0s'
  if (ms < 0) return `-${goDuration(-ms)}`
  if (ms < 1_000) return `${ms}ms`
  const [hours, minutes] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60]
  const seconds = `${(ms % 60_000) / 1_000}s`
  if (hours > 0) return `${hours}h${minutes}m${seconds}`
  return minutes > 0 ? `${minutes}m${seconds}` : seconds
}

/**
 * Makes a configuration the one of the next boot. The resource `persistent` has it at once; a
 * controller writes it to STATE some time later, when the answer to the call has been sent already.
 * Power that is cut in between brings the former configuration back (Talos:
 * internal/app/machined/pkg/controllers/config/persistence.go).
 */
export const storeSoon = (machine: Machine, text: string): void => {
  machine.unsaved = text
  const write = async (): Promise<void> => {
    await machine.world.clock.sleep(TAKES.storeState)
    // Another configuration may have been accepted meanwhile, or the power was cut.
    if (machine.unsaved === text) storeNow(machine)
  }
  void write()
}

/** Writes a configuration to STATE that isn't written yet, as an orderly stop does. */
export const storeNow = (machine: Machine): void => {
  const text = machine.unsaved
  if (text === null) return
  machine.unsaved = null
  machine.disk.change((state) => (state.config = text))
}
