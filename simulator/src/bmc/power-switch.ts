import { Interrupted } from '../clock.ts'
import type { Machine } from '../machine/machine.ts'
import { Refusal } from './refusal.ts'

export const RESET_TYPES = [
  'On',
  'ForceOff',
  'GracefulShutdown',
  'GracefulRestart',
  'ForceRestart',
  'PowerCycle',
  'PushPowerButton',
] as const
export type ResetType = (typeof RESET_TYPES)[number]

export type PowerState = 'On' | 'Off' | 'PoweringOn' | 'PoweringOff'

/** Durations, in ms. */
const TAKES = { on: 2_000, off: 1_500, pause: 5_000, graceful: 600_000 }

/** Acts that take the place of one that is still going on. */
const FORCED: ReadonlySet<ResetType> = new Set(['ForceOff', 'ForceRestart', 'PowerCycle'])

/** The power button of a machine, and what a BMC does with it. */
export class PowerSwitch {
  readonly #machine: Machine
  #act: AbortController | null = null
  #shown: PowerState | null = null
  /** Simulated time of the last moment when the power went off. */
  #offAt = Number.NEGATIVE_INFINITY

  constructor(machine: Machine) {
    this.#machine = machine
  }

  get state(): PowerState {
    return this.#shown ?? (this.#machine.isOn ? 'On' : 'Off')
  }

  /** Remembers when the power went off, whoever switched it. */
  observeOff(): void {
    this.#offAt = this.#machine.world.clock.elapsed()
  }

  /**
   * Begins a reset. The result resolves when it is done, and never rejects. Throws `Refusal` while
   * another one goes on, and for `On` within `refusesOnForMs` after the power went off.
   */
  reset(wanted: ResetType, refusesOnForMs: number): Promise<void> {
    const isOn = this.#machine.isOn
    const type = wanted === 'PushPowerButton' ? (isOn ? 'GracefulShutdown' : 'On') : wanted
    if (this.#act && !FORCED.has(type)) throw new Refusal('ResourceInUse')
    const sinceOff = this.#machine.world.clock.elapsed() - this.#offAt
    if (type === 'On' && !isOn && sinceOff < refusesOnForMs) throw new Refusal('ResourceInUse')
    this.#act?.abort()
    const act = new AbortController()
    this.#act = act
    return this.#perform(type, act.signal)
      .catch((cause: unknown) => {
        if (!(cause instanceof Interrupted))
          this.#machine.world.say(`${this.#machine.plan.name}: ${String(cause)}`)
      })
      .finally(() => {
        if (this.#act !== act) return
        this.#act = null
        this.#shown = null
      })
  }

  /** Ends what goes on, without its effect. */
  stop(): void {
    this.#act?.abort()
  }

  async #perform(type: Exclude<ResetType, 'PushPowerButton'>, signal: AbortSignal): Promise<void> {
    const { lifecycle, isOn, world } = this.#machine
    if (type === 'On') return isOn ? undefined : this.#on(signal)
    if (type === 'ForceOff') return isOn ? this.#off(signal) : undefined
    if (type === 'GracefulShutdown') return this.#askToStop()
    if (type === 'ForceRestart') {
      this.#shown = 'On'
      if (isOn) await lifecycle.powerOff()
      if (!signal.aborted) lifecycle.powerOn()
      return
    }
    if (type === 'PowerCycle' && isOn) {
      await this.#off(signal)
      await world.clock.sleep(TAKES.pause, signal)
    }
    if (type === 'GracefulRestart' && isOn) {
      this.#askToStop()
      const patience = AbortSignal.any([signal, this.#after(TAKES.graceful, signal)])
      await this.#machine.until(() => !this.#machine.isOn, patience)
    }
    await this.#on(signal)
  }

  async #on(signal: AbortSignal): Promise<void> {
    this.#shown = 'PoweringOn'
    await this.#machine.world.clock.sleep(TAKES.on, signal)
    this.#machine.lifecycle.powerOn()
  }

  async #off(signal: AbortSignal): Promise<void> {
    this.#shown = 'PoweringOff'
    await this.#machine.world.clock.sleep(TAKES.off, signal)
    await this.#machine.lifecycle.powerOff()
    this.#shown = null
  }

  /**
   * Presses the power button for a moment. The operating system shuts down if it listens; without
   * one, the firmware switches off at once.
   */
  #askToStop(): void {
    const { lifecycle, isOn, stage, plan, disk } = this.#machine
    if (!isOn) return
    if (plan.isBare && disk.state.installed === null) void lifecycle.powerOff()
    else if (stage.stage !== 'unknown') lifecycle.request({ kind: 'shutdown' })
  }

  #after(ms: number, signal: AbortSignal): AbortSignal {
    const end = new AbortController()
    this.#machine.world.clock.sleep(ms, signal).then(
      () => end.abort(),
      () => undefined,
    )
    return end.signal
  }
}
