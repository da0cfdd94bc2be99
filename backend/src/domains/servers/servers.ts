/** What can be done with servers. Each change is one transaction: rows, audit entry and event together; machines are talked to outside of it. */
import type { serverList } from '#contract/servers.ts'
import type { Server } from '#contract/servers.ts'
import type { Input } from '#contract/operation.ts'
import type { Overview } from '#contract/overview.ts'
import type { Operation } from '#contract/operations.ts'
import type { serverAdd, serverConfirm, serverEvents, serverLogs, serverServices, serverUpdate } from '#contract/servers.ts'
import type { Answer } from '#contract/operation.ts'
import type { Caller } from '../../http/caller.ts'
import type { ForClusters } from './for-clusters.ts'

export interface Servers extends ForClusters {
  /** The page as JSON text, ready to be sent: each server is serialised once per change. */
  list(query: Input<typeof serverList>['query']): Promise<Buffer>
  get(id: string): Promise<Server>
  add(caller: Caller, body: Input<typeof serverAdd>['body']): Promise<{ operation: Operation }>
  confirm(caller: Caller, id: string, body: Input<typeof serverConfirm>['body']): Promise<Server>
  update(caller: Caller, id: string, body: Input<typeof serverUpdate>['body'], ifMatch?: number): Promise<Server>
  remove(caller: Caller, id: string): Promise<void>
  reboot(caller: Caller, id: string): Promise<{ operation: Operation }>
  shutdown(caller: Caller, id: string): Promise<{ operation: Operation }>
  services(id: string): Promise<Answer<typeof serverServices>>
  logs(id: string, query: Input<typeof serverLogs>['query'], signal: AbortSignal): AsyncIterable<Uint8Array>
  events(id: string): Promise<Answer<typeof serverEvents>>
  talosconfig(caller: Caller, id: string): Promise<string>
  config(id: string): Promise<string>
  /** Numbers for the overview; capacity by datacenter id, null for servers in none. */
  summary(): Promise<Pick<Overview, 'servers'> & { capacity: DatacenterCapacity[] }>
}

/** Sums per datacenter. Servers whose hardware is unknown are counted in `unknown_servers` and in no sum. */
export interface DatacenterCapacity extends Omit<Overview['capacity'][number], 'datacenter'> {
  readonly datacenter_id: string | null
}
