import type { Server } from '#contract/servers.ts'
import { createStore } from '../../lib/store.ts'

export type ServerDialog =
  | { kind: 'editServerName'; server: Server }
  | { kind: 'assignDatacenter'; servers: readonly Server[]; done?: () => void }
  | { kind: 'confirmHardware'; ids: readonly string[] }

/** Which dialog about servers is open: one at a time, shown by `ServerDialogs`. */
export const serverDialog = createStore<ServerDialog | null>(null)
