import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import type { Machine } from '../machine/machine.ts'
import { distinguishedName, keyIdOf, signLeaf } from '../wire/leaf.ts'
import { Port, type Speaker } from '../wire/port.ts'
import type { BmcFault, BmcFaultOf } from './faults.ts'
import { Kept, type LogLine } from './kept.ts'
import { type Personality, PERSONALITIES, type PersonalityName } from './personality.ts'
import { PowerSwitch } from './power-switch.ts'
import { Sessions } from './sessions.ts'
import { Tasks } from './tasks.ts'

/** Port of every simulated BMC. Real ones have 443, which needs privileges. */
export const BMC_PORT = 8443

const LIFETIME_MS = 10 * 365 * 24 * 3_600_000

/** Counts since the start of the simulator, for tests. */
const NOTHING = {
  requests: 0,
  /** Requests that carried a password, in Basic authentication or to open a session. */
  passwords: 0,
  refusedPasswords: 0,
  sessionsOpened: 0,
  resets: 0,
  /** Requests that were under way at the same time, at most. */
  mostAtOnce: 0,
}

/** The management controller of a simulated server: Redfish over HTTPS on its own address. */
export class Bmc {
  readonly machine: Machine
  readonly address: string
  readonly port: Port
  readonly kept: Kept
  readonly sessions: Sessions
  readonly tasks: Tasks
  readonly power: PowerSwitch
  readonly counters = { ...NOTHING }
  readonly #endings = new WeakSet<BmcFault>()
  #unwatch: (() => void) | null = null
  #wasOn: boolean
  #bootId: string
  #isResetting = false

  constructor(machine: Machine, folder: string, load: boolean) {
    this.machine = machine
    this.address = machine.plan.bmc.address
    this.kept = new Kept(folder, machine.plan.index, machine.plan.bmc, load)
    this.port = new Port(this.address, BMC_PORT)
    this.sessions = new Sessions(
      () => machine.world.clock.now(),
      () => this.kept.state.sessionTimeoutS * 1000,
    )
    this.tasks = new Tasks(() => this.now())
    this.power = new PowerSwitch(machine)
    this.#wasOn = machine.isOn
    this.#bootId = machine.bootId
  }

  get personality(): Personality {
    return PERSONALITIES[this.kept.state.personality]
  }

  /** The BMC's own clock: wall-clock time in ms. */
  now(): number {
    return this.machine.world.clock.now() + (this.fault('clock')?.off_ms ?? 0)
  }

  /** Certificate and key, made when somebody asks for them first. */
  get identity(): NonNullable<Kept['state']['identity']> {
    if (!this.kept.state.identity) this.#makeCertificate()
    return this.kept.state.identity!
  }

  /** SHA-256 of the certificate, as `openssl x509 -fingerprint` shows it. */
  get fingerprint(): string {
    return this.identity.fingerprint
  }

  /** Uses another certificate from now on. Connections end. */
  renewCertificate(): void {
    this.#makeCertificate()
    this.port.renew()
    this.port.cut()
  }

  #makeCertificate(): void {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const commonName = `bmc-${this.machine.plan.name}`
    const crt = signLeaf(
      {
        name: distinguishedName({ organizations: ['Simulated'], commonName }),
        keyId: keyIdOf(createPublicKey(privateKey)),
        key: privateKey,
      },
      publicKey.export({ type: 'spki', format: 'der' }),
      {
        organizations: ['Simulated'],
        commonName,
        names: [this.address],
        usages: ['serverAuth'],
        lifetimeMs: LIFETIME_MS,
        now: this.machine.world.clock.now(),
      },
    )
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
    const { fingerprint256: fingerprint } = new X509Certificate(crt)
    this.kept.change((state) => (state.identity = { crt, key, fingerprint }))
  }

  /**
   * Starts to answer. Rejects with the system's error if the address isn't available. `makeSpeaker`
   * makes the HTTPS server.
   */
  async open(makeSpeaker: () => Speaker): Promise<void> {
    this.#unwatch = this.machine.journal.watch(() => this.#observe())
    this.#arm()
    await this.port.open(makeSpeaker)
    await this.#setPort()
  }

  close(): void {
    this.#unwatch?.()
    this.power.stop()
    this.sessions.clear()
    this.port.close()
  }

  fault<Kind extends BmcFault['kind']>(kind: Kind): BmcFaultOf<Kind> | undefined {
    return this.kept.state.faults.find((one): one is BmcFaultOf<Kind> => one.kind === kind)
  }

  has(kind: BmcFault['kind']): boolean {
    return this.kept.state.faults.some((one) => one.kind === kind)
  }

  /** Whether a part of the hardware has this fault. `number` counts from 1. */
  isBroken(
    kind: 'supply-without-input' | 'fan-stopped' | 'memory-errors' | 'disk-predicts-failure',
    number: number,
  ): boolean {
    return this.kept.state.faults.some((one) => one.kind === kind && one.number === number)
  }

  async addFault(fault: BmcFault): Promise<void> {
    if (fault.kind === 'certificate') return this.renewCertificate()
    this.kept.change((state) => state.faults.push(fault))
    const line = lineOf(fault)
    if (line) this.kept.log('system', { ...line, at: this.now() })
    this.#arm()
    await this.#setPort()
  }

  async clearFaults(): Promise<void> {
    this.kept.change((state) => (state.faults = []))
    await this.#setPort()
  }

  /** Another maker's behaviour. Sessions end, as at a restart of the BMC. */
  become(personality: PersonalityName): void {
    this.kept.change((state) => (state.personality = personality))
    this.sessions.clear()
  }

  /** Restarts the BMC itself: sessions end, and it doesn't answer for half a minute. */
  reset(): void {
    if (this.#isResetting) return
    this.#isResetting = true
    this.kept.log('manager', {
      at: this.now(),
      severity: 'OK',
      message: 'The manager restarts.',
      part: 'Management',
    })
    const restart = async (): Promise<void> => {
      const { clock } = this.machine.world
      // The response to the request is still sent.
      await clock.sleep(500)
      this.sessions.clear()
      await this.port.trouble('refuse')
      await clock.sleep(30_000)
      this.#isResetting = false
      await this.#setPort()
    }
    void restart()
  }

  async #setPort(): Promise<void> {
    await this.port.trouble(
      this.#isResetting || this.has('refuse') ? 'refuse' : this.has('silent') ? 'hang' : null,
    )
  }

  /** Ends the faults that have a time. */
  #arm(): void {
    for (const fault of this.kept.state.faults) {
      if (!('for_ms' in fault) || fault.for_ms === undefined || this.#endings.has(fault)) continue
      this.#endings.add(fault)
      void this.#endLater(fault, fault.for_ms)
    }
  }

  async #endLater(fault: BmcFault, afterMs: number): Promise<void> {
    await this.machine.world.clock.sleep(afterMs)
    this.kept.change((state) => {
      state.faults = state.faults.filter((one) => one !== fault)
    })
    await this.#setPort()
  }

  /** Notices what happened to the machine, whoever did it. */
  #observe(): void {
    const { isOn, bootId } = this.machine
    if (isOn !== this.#wasOn) {
      this.#wasOn = isOn
      if (!isOn) this.power.observeOff()
      this.kept.log('system', {
        at: this.now(),
        severity: 'OK',
        message: isOn ? 'The system was powered on.' : 'The system was powered off.',
        part: 'SystemEvent',
      })
    }
    if (bootId !== this.#bootId) {
      this.#bootId = bootId
      if (this.kept.state.boot.enabled === 'Once')
        this.kept.change(({ boot }) => Object.assign(boot, { enabled: 'Disabled', target: 'None' }))
    }
  }
}

/** What the hardware's log says when a part breaks. */
const lineOf = (fault: BmcFault): Pick<LogLine, 'severity' | 'message' | 'part'> | null => {
  if (fault.kind === 'supply-without-input')
    return {
      severity: 'Critical',
      message: `Power supply ${fault.number} lost its input.`,
      part: 'PowerSupply',
    }
  if (fault.kind === 'fan-stopped')
    return { severity: 'Critical', message: `Fan ${fault.number} stopped.`, part: 'Fan' }
  if (fault.kind === 'memory-errors')
    return {
      severity: 'Warning',
      message: `Memory module ${fault.number} exceeded the rate of correctable errors.`,
      part: 'Memory',
    }
  if (fault.kind === 'disk-predicts-failure')
    return {
      severity: 'Warning',
      message: `Disk ${fault.number} predicts its failure.`,
      part: 'Drive',
    }
  if (fault.kind === 'hot')
    return {
      severity: 'Warning',
      message: `The inlet temperature is ${fault.celsius} degrees.`,
      part: 'Temperature',
    }
  return null
}
