/**
 * Converts operations for users, with the errors that block them, and writes events about
 * operations.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import * as z from 'zod/mini'
import { sharing } from '#contract/bounds/rows.ts'
import { Operation, operationList } from '#contract/operations.ts'
import type { Page } from '#contract/page.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Work } from '../../engine/engine.ts'
import { type Caller, system, type UserCaller } from '../../http/caller.ts'
import { Serialised } from '../../http/serve.ts'
import type { Platform } from '../../platform.ts'
import * as store from './store.ts'

export type OperationParts = Pick<
  Platform,
  'db' | 'clock' | 'config' | 'record' | 'tell' | 'engine' | 'tracing'
>
export type View = ReturnType<typeof viewing>

const time = (at: Date | null): string | null => at?.toISOString() ?? null

/**
 * Queue and key of each reconciler that carries out an operation; `nodeId`: the server that it
 * works on, or null. Empty for an ended operation.
 */
function workOf(
  { row, steps }: store.Found,
  perServer: ReadonlyMap<string, string>,
): { object: Work; nodeId: string | null }[] {
  const { queue, queue_key: key } = row
  if (queue === null || key === null || row.ended_at !== null) return []
  const each = perServer.get(queue)
  const nodes = each === undefined ? [] : [...new Set(steps.flatMap((s) => s.node_id ?? []))]
  return [
    { object: { queue, key }, nodeId: null },
    ...nodes.map((nodeId) => ({ object: { queue: each!, key: `${key}/${nodeId}` }, nodeId })),
  ]
}

/** The step that a reconciler's error blocks: the running step, else the next one. */
const stopped = (steps: readonly store.StepRow[]): store.StepRow | undefined =>
  steps.find((s) => s.status === 'running' || s.status === 'waiting') ??
  steps.find((s) => s.status === 'todo')

/**
 * Says what an operation that is being cancelled waits for: its reconciler ends it between two
 * steps, or in a step that can be left.
 */
function withWait(operation: Operation): Operation {
  const { status, reason, steps } = operation
  const step = steps.find((s) => s.status === 'running' || s.status === 'waiting')
  if (status !== 'cancelling' || reason !== null || !step) return operation
  return {
    ...operation,
    reason: `Waits until this step is over or can be left: ${step.title}${step.reason === null ? '' : `. ${step.reason}`}`,
  }
}

/** Steps per turn of the main thread. */
const portion = 2_000

/** Converts operations one after another, with turns between: a page may have a million steps. */
async function inTurns<From extends { readonly steps: readonly unknown[] }, To>(
  all: readonly From[],
  convert: (one: From) => To,
): Promise<To[]> {
  const converted: To[] = []
  let steps = 0
  for (const one of all) {
    converted.push(convert(one))
    steps += one.steps.length
    if (steps < portion) continue
    steps = 0
    await nextTurn()
  }
  return converted
}

/** The response of the list, checked by the contract and serialised in turns. */
export async function serialised({ items, ...page }: Page<Operation>): Promise<Serialised> {
  const share = sharing(operationList.list.large!)
  const texts = await inTurns(items, (item) =>
    Buffer.from(JSON.stringify(share(z.parse(Operation, item)))),
  )
  return new Serialised(
    Buffer.concat([
      Buffer.from('{"items":['),
      ...texts.flatMap((text, i) => (i === 0 ? [text] : [Buffer.from(','), text])),
      Buffer.from(`],${JSON.stringify(page).slice(1)}`),
    ]),
  )
}

/** @param troubles reasons of failed runs, from `engine.troubles` */
function present(
  found: store.Found,
  perServer: ReadonlyMap<string, string>,
  troubles: Awaited<ReturnType<OperationParts['engine']['troubles']>>,
): Operation {
  const { row, steps } = found
  const atStep = new Map<string, string>()
  let { reason } = row
  let isHalted = false
  for (const { object, nodeId } of workOf(found, perServer)) {
    const trouble = troubles.get(`${object.queue} ${object.key}`)
    if (trouble === undefined) continue
    isHalted ||= trouble.isHalted
    const own = steps.filter((s) => s.node_id === nodeId)
    const step = stopped(own) ?? (nodeId === null ? stopped(steps) : undefined)
    if (step) atStep.set(step.key, trouble.reason)
    if (nodeId === null || trouble.isHalted) reason = trouble.reason
  }
  return {
    id: row.id,
    kind: row.kind,
    target: { kind: row.target_kind, id: row.target_id, name: row.target_name },
    status: row.status,
    reason,
    created_by: row.created_by_name,
    created_at: row.created_at.toISOString(),
    starts_at: time(row.starts_at),
    in_window: row.in_window,
    ...(isHalted && { halted: true }),
    started_at: time(row.started_at),
    ended_at: time(row.ended_at),
    steps: steps.map(({ operation_id: _id, position: _position, ...s }) => ({
      ...s,
      started_at: time(s.started_at),
      ended_at: time(s.ended_at),
      reason: atStep.get(s.key) ?? s.reason,
    })),
  }
}

export const maySee = (caller: UserCaller, { scope }: Pick<store.OperationRow, 'scope'>): boolean =>
  scope === null || (caller.scopes as readonly string[]).includes(scope)

export function viewing({ tell, engine }: OperationParts) {
  const perServer = new Map<string, string>()

  const announced = (
    tx: Tx,
    caller: Caller,
    how: 'created' | 'updated',
    { id, version, scope }: store.OperationRow,
  ) =>
    tell(tx, caller, {
      name: `operation.${how}`,
      object: { kind: 'operation', id },
      version,
      scope,
    })

  engine.onTrouble(async (tx, { queue, key }) => {
    for (const { id } of await store.openOn(tx, wholes({ queue, key })))
      await announced(tx, system, 'updated', await store.update(tx, id, {}))
  })

  /** The objects that carry out an operation, and its open operations of halted ones. */
  const objectsOf = (found: store.Found): Work[] =>
    workOf(found, perServer).map(({ object }) => object)
  const wholes = ({ queue, key }: Work): Work[] => [
    { queue, key },
    ...[...perServer].flatMap(([whole, each]) =>
      each === queue ? [{ queue: whole, key: key.slice(0, key.lastIndexOf('/')) }] : [],
    ),
  ]

  /** Converts rows, with the current errors of their reconcilers. */
  const shown = async (on: Db | Tx, found: readonly store.Found[]): Promise<Operation[]> => {
    const objects = (await inTurns(found, objectsOf)).flat()
    const troubles = await engine.troubles(on, objects)
    return inTurns(found, (f) => withWait(present(f, perServer, troubles)))
  }

  return {
    announced,
    shown,
    objectsOf,
    wholes,
    carried: () => store.carried(perServer),
    whole: async (on: Db | Tx, id: string): Promise<Operation> =>
      (await shown(on, [(await store.get(on, id))!]))[0]!,
    /** Converts rows for reconcilers, without errors. */
    plain: (found: store.Found): Operation => present(found, perServer, new Map()),
    wake: async (tx: Tx, { queue, queue_key }: store.OperationRow): Promise<void> => {
      if (queue !== null && queue_key !== null) await engine.wake(tx, queue, queue_key)
    },
    /**
     * Declares that operations of `queue` also use the queue `each`, with keys `<operation's
     * key>/<server's id>`. Errors are shown at the server's steps.
     */
    worksPerServer: (queue: string, each: string): void => void perServer.set(queue, each),
  }
}
