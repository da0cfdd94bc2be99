import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import type { MachineService } from '#talos/proto/gen/machine/machine_pb.ts'
import type { Machine } from '../machine/machine.ts'

/** Some calls of `machine.MachineService`. */
export type MachineCalls = Partial<ServiceImpl<typeof MachineService>>

/** Refuses a call on a worker. `what` names the call. */
export const onControlPlane = (machine: Machine, what: string): void => {
  if (machine.config?.node?.role !== 'controlplane') throw new ConnectError(`${what} is only available on control plane nodes`, Code.Unimplemented)
}
