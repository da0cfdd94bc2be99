import * as proto from '#talos/proto/gen/machine/machine_pb.ts'
import { Code } from '#talos/proto/gen/common/common_pb.ts'
import { hasFeature } from '../config/versions.ts'
import type { Stage } from '../fleet/faults.ts'
import type { Journal } from './journal.ts'

export type Sequence =
  | 'initialize'
  | 'install'
  | 'boot'
  | 'reboot'
  | 'shutdown'
  | 'reset'
  | 'upgrade'

export type Unmet = { name: string; reason: string }

/** The name of a stage in Talos's enumerations. */
export const stageWord = (
  stage: Stage,
): Uppercase<Exclude<Stage, 'shutting down'>> | 'SHUTTING_DOWN' =>
  stage === 'shutting down' ? 'SHUTTING_DOWN' : (stage.toUpperCase() as Uppercase<typeof stage>)

/**
 * Number of phases as in Talos's sequencer (v1alpha1_sequencer.go), for display only. A forced
 * reboot has only the phase `reboot`.
 */
const PHASES: Record<Sequence, number> = {
  initialize: 12,
  install: 9,
  boot: 8,
  reboot: 10,
  shutdown: 11,
  reset: 14,
  upgrade: 13,
}
/** Numbers that differ since Talos 1.14. */
const PHASES_14: Partial<Record<Sequence, number>> = {
  reboot: 14,
  shutdown: 15,
  reset: 18,
  upgrade: 17,
}

/** Number of phases of a sequence in this minor. */
export const phasesOf = ({ talosMinor }: { talosMinor: number }, sequence: Sequence): number =>
  (hasFeature(talosMinor, 'stopContainers') ? PHASES_14[sequence] : undefined) ?? PHASES[sequence]

const BY_SEQUENCE: Partial<Record<Sequence, Stage>> = {
  initialize: 'booting',
  boot: 'booting',
  reboot: 'rebooting',
  shutdown: 'shutting down',
  reset: 'resetting',
  upgrade: 'upgrading',
}

/**
 * The stage of a machine, derived from its sequences, phases and tasks exactly as Talos derives it
 * from its own events (Talos: internal/app/machined/pkg/controllers/runtime/machine_status.go).
 */
export class StageTracker {
  stage: Stage = 'unknown'
  ready = true
  unmet: Unmet[] = []
  #sequence: Sequence | null = null
  #phase: { name: string; task: string } | null = null
  #phaseNumber = 0
  #phases = 0
  readonly #journal: Journal
  readonly #onStage: (stage: Stage) => void

  constructor(journal: Journal, onStage: (stage: Stage) => void) {
    this.#journal = journal
    this.#onStage = onStage
  }

  startSequence(sequence: Sequence, actorId = '', phases = PHASES[sequence]): void {
    this.#sequence = sequence
    this.#phase = null
    this.#phaseNumber = 0
    this.#phases = phases
    this.#journal.event(
      proto.SequenceEventSchema,
      { sequence, action: proto.SequenceEvent_Action.START },
      actorId,
    )
    this.#journal.kernel(`[talos] ${sequence} sequence: ${phases} phase(s)`)
    const stage = BY_SEQUENCE[sequence]
    if (stage) this.#to(stage, actorId)
  }

  /** Number of the phase that runs or has failed, from 1. */
  get phaseNumber(): number {
    return this.#phaseNumber
  }

  /** Reports at boot that an installed Talos skips the install sequence. */
  skipInstall(): void {
    this.#journal.event(proto.SequenceEventSchema, {
      sequence: 'install',
      action: proto.SequenceEvent_Action.START,
    })
    this.#journal.kernel('[talos] install sequence: 0 phase(s)')
    this.#journal.kernel('[talos] install sequence: done: 1.2µs')
    this.#journal.event(proto.SequenceEventSchema, {
      sequence: 'install',
      action: proto.SequenceEvent_Action.STOP,
    })
  }

  stopSequence(actorId = ''): void {
    const sequence = this.#sequence
    if (!sequence) return
    this.endPhase()
    this.#sequence = null
    this.#journal.event(
      proto.SequenceEventSchema,
      { sequence, action: proto.SequenceEvent_Action.STOP },
      actorId,
    )
    this.#journal.kernel(`[talos] ${sequence} sequence: done: 1.2s`)
    if (sequence === 'boot') this.#to('running', actorId)
  }

  /** The sequence failed: Talos reboots, unless the sequence was a reboot itself. */
  failSequence(message: string, actorId = ''): void {
    this.#endSequence(message, actorId, Code.FATAL)
    if (this.stage !== 'shutting down') this.#to('rebooting', actorId)
  }

  /**
   * Another sequence takes over, so the running one fails. That is no reason to reboot
   * (v1alpha1_controller.go, Run; main.go).
   */
  cancelSequence(): void {
    if (this.#sequence) this.#endSequence('context canceled', '', Code.CANCELED)
  }

  /**
   * A separate event has the error; the event that ends the sequence has no error
   * (v1alpha1_controller.go, Run).
   */
  #endSequence(message: string, actorId: string, code: Code): void {
    const sequence = this.#sequence ?? 'noop'
    if (this.#phase) {
      const { name, task } = this.#phase
      this.#journal.kernel(`[talos] task ${task} (1/1): failed: ${message}`)
      this.#journal.event(
        proto.PhaseEventSchema,
        { phase: name, action: proto.PhaseEvent_Action.STOP },
        actorId,
      )
      this.#journal.kernel(`[talos] phase ${name} (${this.#phaseNumber}/${this.#phases}): failed`)
    }
    this.#phase = null
    this.#journal.kernel(`[talos] ${sequence} sequence: failed`)
    this.#journal.event(
      proto.SequenceEventSchema,
      { sequence, action: proto.SequenceEvent_Action.STOP },
      actorId,
    )
    const failure = `sequence failed: error running phase ${this.#phaseNumber} in ${sequence} sequence: task 1/1: failed, ${message}`
    this.#journal.event(
      proto.SequenceEventSchema,
      { sequence, action: proto.SequenceEvent_Action.NOOP, error: { message: failure, code } },
      actorId,
    )
    this.#sequence = null
  }

  /** Reports that a sequence was refused because another one is running. */
  refuseSequence(sequence: Sequence, actorId = ''): void {
    const error = { message: 'sequence is already running', code: Code.LOCKED }
    this.#journal.event(
      proto.SequenceEventSchema,
      { sequence, action: proto.SequenceEvent_Action.NOOP, error },
      actorId,
    )
  }

  /** Begins a phase with one task. */
  phase(phase: string, actorId = '', task = phase): void {
    this.endPhase()
    this.#phase = { name: phase, task }
    this.#journal.event(
      proto.PhaseEventSchema,
      { phase, action: proto.PhaseEvent_Action.START },
      actorId,
    )
    this.#phaseNumber++
    this.#phases = Math.max(this.#phases, this.#phaseNumber)
    this.#journal.kernel(
      `[talos] phase ${phase} (${this.#phaseNumber}/${this.#phases}): 1 tasks(s)`,
    )
    this.#journal.kernel(`[talos] task ${task} (1/1): starting`)
    if (phase === 'install' && this.#sequence === 'install') this.#to('installing', actorId)
    if (phase === 'kexec' && (this.#sequence === 'install' || this.#sequence === 'upgrade'))
      this.#to('rebooting', actorId)
  }

  endPhase(): void {
    if (!this.#phase) return
    const { name, task } = this.#phase
    this.#journal.kernel(`[talos] task ${task} (1/1): done, 1.2ms`)
    this.#journal.event(proto.PhaseEventSchema, {
      phase: name,
      action: proto.PhaseEvent_Action.STOP,
    })
    this.#journal.kernel(
      `[talos] phase ${name} (${this.#phaseNumber}/${this.#phases}): done, 1.3ms`,
    )
    this.#phase = null
  }

  task(task: string, running: boolean): void {
    this.#journal.event(proto.TaskEventSchema, {
      task,
      action: running ? proto.TaskEvent_Action.START : proto.TaskEvent_Action.STOP,
    })
    if (task === 'runningMaintenance') this.#to(running ? 'maintenance' : 'booting')
  }

  /** Conditions exist only while booting and running; all other stages count as ready. */
  conditions(unmet: Unmet[]): void {
    const relevant = this.stage === 'booting' || this.stage === 'running' ? unmet : []
    if (JSON.stringify(relevant) === JSON.stringify(this.unmet)) return
    this.unmet = relevant
    this.ready = relevant.length === 0
    this.#announce()
  }

  reset(): void {
    this.stage = 'unknown'
    this.ready = true
    this.unmet = []
    this.#sequence = null
    this.#phase = null
  }

  #to(stage: Stage, actorId = ''): void {
    if (stage === this.stage) return
    this.stage = stage
    if (stage !== 'booting' && stage !== 'running') {
      this.unmet = []
      this.ready = true
    }
    this.#announce(actorId)
    this.#onStage(stage)
  }

  #announce(actorId = ''): void {
    const status = { ready: this.ready, unmetConditions: this.unmet.map((item) => ({ ...item })) }
    this.#journal.event(
      proto.MachineStatusEventSchema,
      { stage: proto.MachineStatusEvent_MachineStage[stageWord(this.stage)], status },
      actorId,
    )
  }
}
