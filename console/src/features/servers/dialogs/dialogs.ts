import type { Server } from '#contract/servers/servers.ts'
import { createStore } from '../../../lib/store.ts'
import type { ItemResult } from './bulk.ts'

export type ServerDialog =
  /** `done` is told what became of each: what failed stays selected. */
  | { kind: 'assignDatacenter'; servers: readonly Server[]; done?: (results: readonly ItemResult[]) => void }
  | { kind: 'removeServers'; servers: readonly Server[]; done?: (results: readonly ItemResult[]) => void }
  | { kind: 'forceRemove'; server: Server }
  | { kind: 'resetServer'; server: Server }
  | { kind: 'confirmHardware'; ids: readonly string[] }

/** Which dialog about servers is open, besides the global modals: one at a time, shown by `ServerDialogs`. */
export const serverDialog = createStore<ServerDialog | null>(null)
