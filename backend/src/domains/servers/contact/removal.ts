/** The removal of a server as an operation: one step, over with the transaction that removes it. */
import type { Operations } from '../../operations/operations.ts'

export const removal = ({ id, name }: { readonly id: string; readonly name: string }): Parameters<Operations['done']>[2] => ({
  kind: 'serverRemove',
  target: { kind: 'server', id, name },
  step: { key: 'remove', title: `Remove ${name}`, node_id: id },
})
