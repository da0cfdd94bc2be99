import { randomUUID } from 'node:crypto'
import { Interrupted } from '../clock.ts'
import { boot } from './boot.ts'
import { TAKES } from './durations.ts'
import { configUrl } from './kernel-line.ts'
import type { Machine } from './machine.ts'
import { rebootSequence, resetSequence, shutdownSequence, upgradeSequence, type ResetWish } from './sequences.ts'

export type Wish = { kind: 'reboot' } | { kind: 'shutdown' } | { kind: 'reset'; reset: ResetWish } | { kind: 'upgrade'; image: string }

/** Power and sequences of one machine: one boot after another until somebody takes the power away. */
export class Lifecycle {
  readonly #machine: Machine
  #power: AbortController | null = null
  #boot: AbortController | null = null
  #wish: { wish: Wish; actorId: string } | null = null
  #busy = false
  #failure: Error | null = null
  #living: Promise<void> = Promise.resolve()

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /**
   * Begins to live as the disk says. A machine without a configuration was on all along and is in maintenance when this resolves, unless it has to fetch one first:
   * what it fetched the last time is gone with its memory, so it boots.
   */
  async start(): Promise<void> {
    const { state } = this.#machine.disk
    const instant = state.power === 'on' && state.config === null && configUrl(this.#machine.kernelCommandLine) === null
    // Whatever the server does later: an address that can't be had is said now.
    if (!instant) await this.#machine.ports.apid.probe()
    if (state.power === 'off') return
    this.#live(instant)
    if (instant) await this.#ready()
  }

  /** Boots a machine that has never lived, without waiting for anything. */
  begin(): void {
    this.#live(false)
  }

  powerOn(): void {
    if (this.#power) return
    this.#machine.disk.change((state) => (state.power = 'on'))
    this.#live(false)
  }

  /** Pulls the plug: nothing is stopped, nothing is said, what isn't on the disk is gone. */
  async powerOff(): Promise<void> {
    this.#machine.disk.change((state) => (state.power = 'off'))
    await this.halt()
  }

  /** Ends the machine's life in this process without touching its state. */
  async halt(): Promise<void> {
    this.#power?.abort()
    this.#power = null
    this.#machine.goDark()
    await this.#living
    this.#machine.goDark()
    this.#machine.services.clear()
    this.#machine.stage.reset()
    this.#machine.journal.changed()
  }

  /**
   * Asks for a sequence. Installing, and sequences under way, may not be interrupted: then the wish is dropped and an event says so, while the caller was told
   * that it was accepted (Talos runs sequences after it answered).
   */
  request(wish: Wish): string {
    const actorId = randomUUID()
    const { stage } = this.#machine.stage
    const isFree = !this.#busy && ['booting', 'running', 'maintenance'].includes(stage)
    if (!isFree) this.#machine.stage.refuseSequence(wish.kind, actorId)
    else {
      this.#wish = { wish, actorId }
      this.#busy = true
      // After the reply is on its way.
      setTimeout(() => this.#boot?.abort(), 20).unref()
    }
    return actorId
  }

  #live(instant: boolean): void {
    const power = new AbortController()
    this.#power = power
    this.#living = this.#run(power.signal, instant).catch((cause: unknown) => {
      if (!(cause instanceof Interrupted)) this.#machine.world.say(`${this.#machine.plan.name}: ${cause instanceof Error ? cause.message : String(cause)}`)
    })
  }

  async #run(power: AbortSignal, instantFirst: boolean): Promise<void> {
    let instant = instantFirst
    while (!power.aborted) {
      const current = new AbortController()
      this.#boot = current
      this.#busy = false
      this.#wish = null
      const signal = AbortSignal.any([power, current.signal])
      try {
        await boot(this.#machine, signal, { instant })
      } catch (cause) {
        if (!(cause instanceof Interrupted)) {
          this.#failure = cause instanceof Error ? cause : new Error(String(cause))
          if (!instant) this.#machine.world.say(`${this.#machine.plan.name}: ${this.#failure.message}`)
          this.#machine.stage.failSequence(cause instanceof Error ? cause.message : String(cause))
          await this.#machine.takes(TAKES.failedSequence, power)
        }
      }
      instant = false
      current.abort()
      if (power.aborted) return
      const wanted = this.#wish as { wish: Wish; actorId: string } | null
      if (wanted && (await this.#perform(wanted.wish, wanted.actorId, power)) === 'off') {
        this.#machine.disk.change((state) => (state.power = 'off'))
        this.#machine.goDark()
        this.#machine.services.clear()
        this.#machine.stage.reset()
        this.#power = null
        return
      }
      this.#machine.goDark()
    }
  }

  #ready(): Promise<void> {
    const { journal, stage } = this.#machine
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (stage.stage === 'unknown' || stage.stage === 'booting') return
        unwatch()
        if (stage.stage === 'maintenance') resolve()
        else reject(this.#failure ?? new Error(`${this.#machine.plan.name} didn't reach maintenance`))
      }
      const unwatch = journal.watch(look)
      look()
    })
  }

  async #perform(wish: Wish, actorId: string, power: AbortSignal): Promise<'boot' | 'off'> {
    const machine = this.#machine
    if (wish.kind === 'reboot') return rebootSequence(machine, actorId, power)
    if (wish.kind === 'shutdown') return shutdownSequence(machine, actorId, power)
    if (wish.kind === 'upgrade') return upgradeSequence(machine, wish.image, actorId, power)
    return resetSequence(machine, wish.reset, actorId, power)
  }
}
