/**
 * Components that don't come back: with the fault `component-fails`, a component of a control plane
 * or a kubelet ends at the next configuration or boot, and after every start.
 */
import type { Component, Fault } from '../fleet/faults.ts'
import { TAKES } from './durations.ts'
import type { Machine } from './machine.ts'

type ComponentFault = Extract<Fault, { kind: 'component-fails' }>

const faultOf = (machine: Machine, component: Component): ComponentFault | undefined =>
  machine.disk.state.faults.find(
    (fault): fault is ComponentFault =>
      fault.kind === 'component-fails' &&
      fault.component === component &&
      (fault.config === undefined || machine.config?.text.includes(fault.config) === true),
  )

/** Whether the component ends after each start. */
export const fails = (machine: Machine, component: Component): boolean =>
  faultOf(machine, component) !== undefined

/**
 * Returns a function that tells whether the running component ends now: another configuration has
 * come since the fault was added, or the fault names a part of the configuration. Call it after
 * every change of the machine.
 */
export const endingOf = (machine: Machine, component: Component): (() => boolean) => {
  let since = machine.config
  return () => {
    const fault = faultOf(machine, component)
    if (fault === undefined) since = machine.config
    return fault !== undefined && (machine.config !== since || fault.config !== undefined)
  }
}

/** Waits until the component no longer ends after its start. */
export const untilMended = async (
  machine: Machine,
  component: Component,
  signal: AbortSignal,
): Promise<void> => {
  while (fails(machine, component)) await machine.looksAgainAfter(TAKES.pullRetry, signal)
}

/**
 * Shows that Talos starts the service again and again (Talos:
 * internal/app/machined/pkg/system/runner/restart/restart.go).
 */
export const showRestarts = (machine: Machine, component: 'etcd' | 'kubelet'): void =>
  machine.service(
    component,
    'Waiting',
    `Error running Containerd(${component}), going to restart forever: task "${component}" failed: exit code 1`,
  )
