/** The way back to the former version of Talos, and what machined does after a failed sequence. */
import { TAKES } from '../durations.ts'
import type { Machine } from '../machine.ts'

/**
 * The META tag of an upgrade before its first successful boot (Talos:
 * pkg/machinery/meta/constants.go, Upgrade). Its value is the boot entry of the old version.
 */
export const UPGRADE_TAG = '0x06'

/** Whether the machine was upgraded, and the new version has never been ready. */
export const hasFallback = ({ disk }: Machine): boolean =>
  disk.state.meta[UPGRADE_TAG] !== undefined

/** Switches the boot loader to the other entry. */
export const revert = (machine: Machine): void =>
  machine.disk.change((state) => {
    const { installed, previous } = state
    if (!installed || !previous) return
    state.previous = { version: installed.version, image: installed.image }
    state.installed = { ...installed, ...previous }
    delete state.meta[UPGRADE_TAG]
  })

/**
 * Goes back to the former version if the upgraded one was never ready, and waits ten seconds
 * (Talos: main.go, handle; revert.go). The machine restarts afterwards, or is off.
 */
export const afterFailure = async (machine: Machine, power: AbortSignal): Promise<void> => {
  const label = machine.disk.state.meta[UPGRADE_TAG]
  if (label !== undefined) {
    machine.journal.kernel(`[talos] reverting failed upgrade, switching to "${label}"`)
    revert(machine)
  }
  machine.journal.kernel('[talos] rebooting in 10 seconds')
  await machine.takes(TAKES.failedSequence, power)
}

/**
 * An upgraded machine that is ready keeps its version (Talos:
 * controllers/runtime/drop_upgrade_fallback.go).
 */
export const dropFallback = (machine: Machine): void => {
  if (!hasFallback(machine)) return
  machine.disk.change((state) => delete state.meta[UPGRADE_TAG])
  machine.journal.kernel('[talos] removing fallback entry')
}
