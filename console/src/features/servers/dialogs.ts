import type { Server } from '#contract/servers.ts'
import { createStore } from '../../lib/store.ts'

export type ServerDialog = { kind: 'assignDatacenter'; servers: readonly Server[]; done?: () => void } | { kind: 'confirmHardware'; ids: readonly string[] }

/** Which dialog about servers is open, besides the global modals: one at a time, shown by `ServerDialogs`. */
export const serverDialog = createStore<ServerDialog | null>(null)
