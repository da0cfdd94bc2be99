import { changeCalls } from './change-calls.ts'
import { etcdCalls } from './etcd-calls.ts'
import type { MachineCalls } from './machine-calls.ts'
import { observeCalls } from './observe-calls.ts'
import { runtimeCalls } from './runtime-calls.ts'

/** `machine.MachineService` of a simulated server. A call that is missing here answers UNIMPLEMENTED. */
export const machineService: MachineCalls = { ...observeCalls, ...runtimeCalls, ...changeCalls, ...etcdCalls }
