import {
  hasEnded,
  type Operation,
  operationCancel,
  operationList,
  operationRetry,
  operationRetryDisks,
  operationTitle,
} from '#contract/operations.ts'
import { operationResume } from '#contract/restoration.ts'
import { command, type Command, listCommand, objectCommand } from '../command.ts'
import * as noun from '../nouns.ts'
import type { Colour } from '../terminal.ts'
import { oneLine, words } from '../text.ts'
import { waitOption, waitOr, watch } from '../watch.ts'
import { confirmedDisks, confirmOption, withDisks } from './confirm-disks.ts'

const colourOf = (o: Operation): Colour | null =>
  o.status === 'failed' ? 'red' : o.status === 'done' ? 'green' : hasEnded(o) ? null : 'yellow'

/** The operation's reason, or its current step. */
const now = (o: Operation) =>
  o.reason ?? o.steps.find((s) => s.status === 'running' || s.status === 'waiting')?.title ?? ''

/** An operation's title and status: "Create cluster web: cancelling". */
const stateOf = (o: Operation) => `${oneLine(`${operationTitle(o)}: ${words(o.status)}`)}\n`

/** The message after operations were resumed: the title and status of each, one per line. */
export const resumedText = ({ operations }: { operations: readonly Operation[] }) =>
  operations.length === 0
    ? 'The cluster is resumed. No operation was on hold\n'
    : operations.map(stateOf).join('')

export const operationCommands: Command[] = [
  listCommand({
    name: 'operation list',
    summary: 'Running and past operations, newest first.',
    examples: ['operation list --status open', 'operation list --kind clusterCreate --json'],
    operation: operationList,
    shown: ['id', 'kind', 'target', 'status', 'created_at', 'created_by', 'now'],
    cells: { status: { colour: colourOf }, now: { text: now } },
  }),
  command({
    name: 'operation watch',
    summary:
      'Show the steps of an operation until it has ended; exits 1 if it failed or was cancelled.',
    operands: { operation: noun.operation },
    examples: [
      'operation watch 0198c0de-0000-7000-8000-000000000001',
      'operation watch 0198c0de-0000-7000-8000-000000000001 --json',
    ],
    async run(context, { operands }) {
      return (
        await watch(
          context,
          await noun.idOf(context.api, noun.operation, operands.operation),
          context.json ? 'json' : 'out',
        )
      ).exit
    },
  }),
  objectCommand({
    name: 'operation cancel',
    of: noun.operation,
    operation: operationCancel,
    say: stateOf,
  }),
  command({
    name: 'operation retry',
    summary: 'Retry a failed operation from the step that failed.',
    operands: { operation: noun.operation },
    options: { ...confirmOption, ...waitOption },
    examples: ['operation retry 0198c0de-0000-7000-8000-000000000001 --wait'],
    async run(context, { operands, options }) {
      const params = { id: await noun.idOf(context.api, noun.operation, operands.operation) }
      const operation = await withDisks(
        context,
        async () => (await context.api.call(operationRetryDisks, { params })).items,
        confirmedDisks(options['confirm-disk']),
        (confirmed_disks) =>
          context.api.call(operationRetry, { params, body: { confirmed_disks } }),
      )
      const watched = await waitOr(context, operation.id, options.wait)
      context.show(watched?.operation ?? operation, stateOf)
      return watched?.exit
    },
  }),
  objectCommand({
    name: 'operation resume',
    of: noun.operation,
    operation: operationResume,
    summary:
      'Resume an operation that has been held since a restore, or that waits because its work ended Steelyard twice. After a restore the whole cluster is resumed.',
    say: resumedText,
  }),
]
