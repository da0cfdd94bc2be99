import {
  hasEnded,
  type Operation,
  operationGet,
  type Step,
  operationTitle,
} from '#contract/operations.ts'
import { counted } from '#contract/words.ts'
import type { Context } from './command.ts'
import { CliError, exitCodes } from './exit.ts'
import { type Colour, paint } from './terminal.ts'
import { cut, oneLine, safeJson, words } from './text.ts'

const pollMs = 1000
const mostAddressesShown = 32
/**
 * How long to wait while Steelyard doesn't answer. Steelyard may be restarting; the operation then
 * continues.
 */
const patienceMs = 5 * 60_000

const colours: Partial<Record<Step['status'] | Operation['status'], Colour>> = {
  done: 'green',
  failed: 'red',
  cancelled: 'yellow',
  waiting: 'yellow',
  skipped: 'dim',
}

/** The state of a step as text. A line is printed when this text changes. */
const stepText = (s: Step) =>
  `${words(s.status)}${s.attempt > 1 && s.status !== 'done' ? ` (attempt ${s.attempt})` : ''}\u0000${s.title}${s.reason ? `: ${s.reason}` : ''}`

/** Text of the progress line below the steps. */
function progress(o: Operation): string {
  const done = o.steps.filter((s) => s.status === 'done' || s.status === 'skipped').length
  const current =
    o.steps.find((s) => s.status === 'running') ?? o.steps.find((s) => s.status === 'waiting')
  return `${done} of ${counted(o.steps.length, 'step')} done${current ? `, now: ${current.title}` : ''}${o.reason ? ` (${o.reason})` : ''}`
}

/**
 * Whether an operation scans many addresses. If so, addresses without a response are not listed but
 * counted, so that the found servers stay visible.
 */
const isScan = (o: Operation) => o.kind === 'serverAdd' && o.steps.length > mostAddressesShown

/**
 * Shows the steps of an operation until it has ended. Resolves to its last state and the exit code.
 * Ctrl-C ends only this function, not the operation. With `print` json, each change is one line of
 * JSON on standard output; otherwise lines of text, on standard error (`err`) after a command that
 * has started the operation and needs standard output for its own result.
 */
export async function watch(
  { terminal, api, line: machineLine }: Pick<Context, 'terminal' | 'api' | 'line'>,
  id: string,
  print: 'out' | 'err' | 'json',
) {
  const signal = terminal.interrupted()
  const live = print === 'err' ? terminal.errColumns : print === 'out' ? terminal.columns : null
  const write = (text: string) => (print === 'err' ? terminal.err(text) : terminal.out(text))
  const seen = new Map<string, string>()
  let lastJson = ''
  let silentSince: number | null = null

  const line = (text: string) => write(`${live === null ? '' : '\r\u001b[K'}${text}\n`)
  const show = (o: Operation) => {
    if (print === 'json') {
      const json = safeJson(o)
      if (json !== lastJson) terminal.out(machineLine(o))
      lastJson = json
      return
    }
    for (const step of o.steps) {
      const text = stepText(step)
      if (
        step.status === 'todo' ||
        seen.get(step.key) === text ||
        (isScan(o) && step.status === 'skipped')
      )
        continue
      seen.set(step.key, text)
      const [status = '', title = ''] = text.split('\u0000')
      const time = new Date(terminal.now()).toTimeString().slice(0, 8)
      const painted = paint(terminal, colours[step.status] ?? 'bold', status.padEnd(8))
      line(`${time}  ${painted}  ${oneLine(title)}`)
    }
    if (live !== null && !hasEnded(o)) write(`\r\u001b[K${cut(oneLine(progress(o)), live - 1)}`)
  }

  let operation: Operation | null = null
  while (!signal.aborted) {
    try {
      operation = await api.call(operationGet, { params: { id } }, { signal })
      if (silentSince !== null) terminal.err('Steelyard answers again.\n')
      silentSince = null
      show(operation)
      if (hasEnded(operation)) break
    } catch (e) {
      if (signal.aborted) break
      if (!(e instanceof CliError) || e.exit !== 'unreachable') throw e
      // No retry before the first response, because the address may be wrong. That of a command
      // which has started the operation is right.
      if (operation === null && print !== 'err') throw e
      if (silentSince === null)
        terminal.err(`${live === null ? '' : '\n'}${e.message}. Trying again.\n`)
      silentSince ??= terminal.now()
      if (terminal.now() - silentSince > patienceMs) throw e
    }
    await terminal.sleep(pollMs, signal)
  }
  if (operation === null || !hasEnded(operation)) {
    throw new CliError(
      'interrupted',
      `${live === null ? '' : '\n'}Stopped watching. The operation continues`,
      {
        hint: `Watch it again: steelyard operation watch ${id}`,
      },
    )
  }
  if (print !== 'json') {
    const reason = operation.reason ? `. ${operation.reason}` : ''
    line(
      paint(
        terminal,
        colours[operation.status] ?? 'bold',
        oneLine(`${operationTitle(operation)}: ${words(operation.status)}${reason}`),
      ),
    )
  }
  return { operation, exit: operation.status === 'done' ? exitCodes.ok : exitCodes.failure }
}

export const waitOption = {
  wait: { kind: 'flag', help: 'Wait until the operation has ended, and show its steps' },
} as const

/**
 * After a command has started an operation: waits for it with --wait, otherwise prints how to wait.
 */
export async function waitOr(context: Context, id: string, wait: boolean) {
  if (wait) return watch(context, id, 'err')
  context.terminal.err(`Watch it: steelyard operation watch ${id}\n`)
  return null
}

/**
 * Ends a command that has started an operation. Without --wait prints `sentence`; with --wait
 * resolves to the exit code of the operation.
 */
export async function showBegun(
  context: Context,
  begun: { readonly operation: Operation },
  wait: boolean,
  sentence: string,
): Promise<number | undefined> {
  const watched = await waitOr(context, begun.operation.id, wait)
  context.show(watched ? { operation: watched.operation } : begun, () =>
    watched ? '' : `${sentence}\n`,
  )
  return watched?.exit
}
