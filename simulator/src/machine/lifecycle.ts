import { randomUUID } from 'node:crypto'
import { Interrupted } from '../clock.ts'
import { boot } from './boot.ts'
import { TAKES } from './durations.ts'
import { configUrl } from './kernel-line.ts'
import type { Machine, Power, Wish } from './machine.ts'
import { resetSequence, stopSequence } from './sequences.ts'
import { storeNow } from './trial.ts'
import { stagedUpgradeSequence, upgradeSequence } from './upgrading/upgrade.ts'

interface Wanted {
  readonly wish: Wish
  readonly actorId: string
}

/** Power and sequences of a machine: boots repeatedly until the power is cut. */
export class Lifecycle implements Power {
  readonly #machine: Machine
  #power: AbortController | null = null
  #boot: AbortController | null = null
  #wish: Wanted | null = null
  #busy = false
  /**
   * The sequence that the last request has started. Another reboot may take over from it, if it may
   * be stopped.
   */
  #sequence: { readonly kind: Wish['kind']; readonly stop: AbortController } | null = null
  #failure: Error | null = null
  #living: Promise<void> = Promise.resolve()

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /**
   * Starts the machine from the state of its disk. Without a configuration on the disk, the machine
   * is already in maintenance when the promise resolves. A machine with a configuration URL always
   * goes through a whole boot, because a downloaded configuration is in memory only.
   */
  async start(): Promise<void> {
    const { state } = this.#machine.disk
    const instant =
      state.power === 'on' &&
      !this.#bootsNothing &&
      state.config === null &&
      configUrl(this.#machine.kernelCommandLine) === null
    // Fail at once if the address is unavailable.
    if (!instant) await this.#machine.ports.apid.probe()
    if (state.power === 'off') return
    this.#live(instant)
    if (instant) await this.#ready()
  }

  begin(): void {
    this.#live(false)
  }

  powerOn(): void {
    if (this.#power) return
    this.#machine.disk.change((state) => (state.power = 'on'))
    this.#live(false)
  }

  async powerOff(): Promise<void> {
    this.#machine.unsaved = null
    this.#machine.disk.change((state) => (state.power = 'off'))
    await this.halt()
    this.#machine.etcdCluster?.observeQuorum()
  }

  async halt(): Promise<void> {
    this.#power?.abort()
    this.#power = null
    storeNow(this.#machine)
    this.#machine.cancelTry?.()
    this.#machine.cancelTry = null
    this.#machine.goDark()
    await this.#living
    this.#machine.goDark()
    this.#machine.services.clear()
    this.#machine.stage.reset()
    this.#machine.journal.changed()
  }

  /**
   * Requests a sequence. If the machine is installing or runs another sequence, the request is
   * dropped, and an event reports this; but a reboot takes over from a reboot and from a reset
   * (Talos: runtime/sequencer.go, sequenceTakeOver). The caller always gets a successful response,
   * because Talos sends the response before it runs the sequence.
   */
  request(wish: Wish): string {
    const actorId = randomUUID()
    const { stage } = this.#machine.stage
    const takesOver =
      wish.kind === 'reboot' &&
      (this.#sequence?.kind === 'reboot' || this.#sequence?.kind === 'reset')
    const isFree = !this.#busy && ['booting', 'running', 'maintenance'].includes(stage)
    if (!isFree && !takesOver) this.#machine.stage.refuseSequence(wish.kind, actorId)
    else {
      this.#wish = { wish, actorId }
      this.#busy = true
      const running = takesOver ? this.#sequence!.stop : this.#boot
      // Abort what runs only after the response was sent.
      setTimeout(() => running?.abort(), 20).unref()
    }
    return actorId
  }

  #live(instant: boolean): void {
    const power = new AbortController()
    this.#power = power
    this.#living = this.#run(power.signal, instant).catch((cause: unknown) => {
      if (!(cause instanceof Interrupted))
        this.#machine.world.say(
          `${this.#machine.plan.name}: ${cause instanceof Error ? cause.message : String(cause)}`,
        )
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
      if (this.#bootsNothing) {
        this.#machine.beginBoot()
        await this.#machine.until(() => false, power)
      }
      try {
        await boot(this.#machine, signal, { instant })
      } catch (cause) {
        if (!(cause instanceof Interrupted)) {
          this.#failure = cause instanceof Error ? cause : new Error(String(cause))
          if (!instant)
            this.#machine.world.say(`${this.#machine.plan.name}: ${this.#failure.message}`)
          this.#machine.stage.failSequence(cause instanceof Error ? cause.message : String(cause))
          await this.#machine.takes(TAKES.failedSequence, power)
        }
      }
      instant = false
      current.abort()
      if (power.aborted) return
      if ((await this.#performWishes(power)) === 'off') {
        this.#machine.disk.change((state) => (state.power = 'off'))
        this.#machine.goDark()
        this.#machine.services.clear()
        this.#machine.stage.reset()
        this.#power = null
        this.#machine.journal.changed()
        return
      }
      this.#machine.goDark()
    }
  }

  /** Whether the firmware finds nothing to start: no boot media, and no Talos on the disks. */
  get #bootsNothing(): boolean {
    const { plan, disk } = this.#machine
    return plan.isBare && disk.state.installed === null
  }

  #ready(): Promise<void> {
    const { journal, stage } = this.#machine
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (stage.stage === 'unknown' || stage.stage === 'booting') return
        unwatch()
        if (stage.stage === 'maintenance') resolve()
        else
          reject(this.#failure ?? new Error(`${this.#machine.plan.name} didn't reach maintenance`))
      }
      const unwatch = journal.watch(look)
      look()
    })
  }

  /**
   * Performs the requested sequence, and those that take over from it. A sequence that got stuck
   * waits for such a request.
   */
  async #performWishes(power: AbortSignal): Promise<'boot' | 'off'> {
    let end: 'boot' | 'off' | 'stuck' = 'boot'
    while (this.#wish !== null) {
      const { wish, actorId } = this.#wish
      this.#wish = null
      const stop = new AbortController()
      this.#sequence = { kind: wish.kind, stop }
      const signal = AbortSignal.any([power, stop.signal])
      try {
        this.#machine.stage.cancelSequence()
        end = await this.#perform(wish, actorId, signal)
        if (end === 'stuck') await this.#machine.until(() => false, signal)
      } catch (cause) {
        if (!(cause instanceof Interrupted) || power.aborted) throw cause
      } finally {
        this.#sequence = null
      }
    }
    return end === 'off' ? 'off' : 'boot'
  }

  #perform(wish: Wish, actorId: string, power: AbortSignal): Promise<'boot' | 'off' | 'stuck'> {
    const machine = this.#machine
    if ('image' in wish)
      return (wish.stage ? stagedUpgradeSequence : upgradeSequence)(
        machine,
        wish.image,
        actorId,
        power,
      )
    if ('reset' in wish) return resetSequence(machine, wish.reset, actorId, power)
    return stopSequence(
      machine,
      { kind: wish.kind, forced: wish.kind === 'reboot' && wish.mode === 'force' },
      actorId,
      power,
    )
  }
}
