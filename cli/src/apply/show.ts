/** Plans and their outcomes as text and as JSON. */
import type { ClusterPlan } from '#contract/clusters/changes/changes.ts'
import { collapse, diffLines } from '#contract/servers/diff.ts'
import { diskSentence } from '#contract/disks/wipe.ts'
import { counted } from '#contract/words.ts'
import { stepsText } from '../commands/cluster-changes/plan-text.ts'
import { previewText } from '../commands/shared-patches/preview-text.ts'
import { type Colour, paint, type Terminal } from '../terminal.ts'
import { cut, manyLines, oneLine, words } from '../text.ts'
import type { Problem } from './files.ts'
import type { Change, Does, Step } from './plan.ts'
import { movingText, type WholePlan } from './planning.ts'
import type { Outcome } from './run.ts'

const signs: Readonly<Record<Does, readonly [sign: string, colour: Colour | null]>> = {
  create: ['+', 'green'],
  update: ['~', 'yellow'],
  send: ['?', 'yellow'],
  remove: ['-', 'red'],
}
const longestValue = 60

/** A value on one line: text as it is, `[a, b]`, `{a: b}`. */
function inline(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : `[${value.map(inline).join(', ')}]`
  if (typeof value === 'string') return oneLine(value)
  if (typeof value !== 'object') return oneLine(JSON.stringify(value))
  const fields = Object.entries(value).filter(
    ([, one]) => one !== undefined && !(Array.isArray(one) && one.length === 0),
  )
  return fields.length === 0
    ? 'none'
    : `{${fields.map(([key, one]) => `${oneLine(key)}: ${inline(one)}`).join(', ')}}`
}

const isLong = (value: unknown): value is string =>
  typeof value === 'string' && value.trimEnd().includes('\n')

/** The lines of a text that differ, with context. */
function textDiff(terminal: Terminal, before: string, after: string): string {
  const marks = { same: [' ', 'dim'], add: ['+', 'green'], remove: ['-', 'red'] } as const
  return collapse(diffLines(before, after))
    .map(({ hidden, lines }) =>
      hidden
        ? `      @@ ${counted(lines.length, 'unchanged line')} @@\n`
        : lines
            .map(
              ({ kind, text }) =>
                `      ${paint(terminal, marks[kind][1], `${marks[kind][0]} ${manyLines(text)}`)}\n`,
            )
            .join(''),
    )
    .join('')
}

/** One field. `isWhole`: values aren't shortened, and texts are shown with their lines. */
function changeText(
  terminal: Terminal,
  { field, before, after }: Change,
  does: Does,
  isWhole: boolean,
): string {
  if (isLong(before) || isLong(after)) {
    const [old, now] = [before, after].map((value) => (typeof value === 'string' ? value : '')) as [
      string,
      string,
    ]
    return isWhole
      ? `    ${field}:\n${textDiff(terminal, old, now)}`
      : `    ${field}: ${counted(now.trimEnd().split('\n').length, 'line')}\n`
  }
  const value = (one: unknown) => (isWhole ? inline(one) : cut(inline(one), longestValue))
  return `    ${field}: ${does === 'create' ? value(after) : `${value(before)} → ${value(after)}`}\n`
}

const titleOf = ({ kind, name, note }: Step): string =>
  `${kind} ${oneLine(name)}${note === undefined ? '' : ` (${oneLine(note)})`}`

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '    ')

/** The plan of a change of a running cluster: its warnings, and the steps of each server. */
const changePlanText = (terminal: Terminal, plan: ClusterPlan): string =>
  indented(
    [
      ...plan.warnings.map((warning) => `Warning: ${oneLine(warning)}\n`),
      ...(plan.groups.length === 0 ? [] : [stepsText(terminal, plan)]),
      ...plan.disks.map((disk) => `${oneLine(diskSentence(disk))}. It will be wiped\n`),
      ...plan.losses.map(({ reason }) => `${oneLine(reason)}\n`),
      ...plan.differences.map(
        ({ name, diff }) => `${oneLine(name)}:\n${manyLines(diff.trimEnd())}\n`,
      ),
    ].join(''),
  )

/** `isWhole`: also the fields of objects that are created, and texts with their lines. */
export function planText(terminal: Terminal, plan: WholePlan, isWhole: boolean): string {
  const lines = plan.steps.map((step) => {
    const [sign, colour] = signs[step.does]
    const title = `${sign} ${titleOf(step)}\n`
    const changes = step.does === 'create' && !isWhole ? [] : step.changes
    return (
      (colour ? paint(terminal, colour, title) : title) +
      changes.map((change) => changeText(terminal, change, step.does, isWhole)).join('') +
      (step.details ?? []).map((line) => `    ${oneLine(line)}\n`).join('') +
      (step.plan ? changePlanText(terminal, step.plan) : '') +
      (step.preview ? indented(previewText(step.preview)) : '')
    )
  })
  const count = (...does: readonly Does[]) => plan.steps.filter((s) => does.includes(s.does)).length
  const summary = [
    `${count('create')} to create`,
    `${count('update', 'send')} to change`,
    `${count('remove')} to remove`,
    `${plan.unchanged} unchanged`,
    ...(plan.waiting.length > 0 ? [`${plan.waiting.length} waiting`] : []),
    ...(plan.withheld.length > 0 ? [`${plan.withheld.length} not confirmed`] : []),
  ].join(', ')
  return [
    ...lines,
    ...plan.waiting.map(
      ({ kind, name, reason }) => `  ${kind} ${oneLine(name)} waits: ${oneLine(reason)}\n`,
    ),
    ...(plan.moving.objects.length > 0 ? [`${movingText(plan)}\n`] : []),
    ...[...plan.withheld, ...plan.notes].map((note) => `${oneLine(note)}\n`),
    `${summary}\n`,
  ].join('')
}

const mostProblems = 50
export function problemsText(problems: readonly Problem[]): string {
  const shown = problems
    .slice(0, mostProblems)
    .map(({ file, line, message }) => `${oneLine(file)}:${line}: ${oneLine(message)}`)
  return [
    ...shown,
    ...(problems.length > mostProblems
      ? [`and ${counted(problems.length - mostProblems, 'more problem')}`]
      : []),
  ].join('\n')
}

const verbs: Readonly<Record<Does, string>> = {
  create: 'created',
  update: 'changed',
  send: 'sent',
  remove: 'removed',
}
export function outcomeText(terminal: Terminal, { step, result, error }: Outcome): string {
  const word = result === 'done' ? verbs[step.does] : words(result)
  const colour: Colour =
    result === 'done' || result === 'begun' ? 'green' : result === 'failed' ? 'red' : 'dim'
  const where =
    result === 'failed' && step.placed ? ` (${oneLine(step.placed.file)}:${step.placed.line})` : ''
  return `${paint(terminal, colour, word.padEnd(8))}  ${step.kind} ${oneLine(step.name)}${error ? `: ${oneLine(error.message)}${where}` : ''}\n`
}

const placeOf = ({ placed }: Pick<Step, 'placed'>) =>
  placed ? { file: placed.file, line: placed.line } : {}
const stepJson = (step: Step) => ({
  does: step.does,
  kind: step.kind,
  name: step.name,
  changes: step.changes,
  note: step.note ?? null,
  details: step.details ?? [],
  plan: step.plan ?? null,
  ...(step.preview && { preview: step.preview }),
  ...placeOf(step),
})

/** The plan for scripts. */
export const planJson = ({
  steps,
  waiting,
  problems,
  notes,
  withheld,
  unchanged,
  set,
  moving,
}: WholePlan) => ({
  set,
  steps: steps.map(stepJson),
  moving: moving.objects,
  waiting: waiting.map(({ kind, name, reason, placed }) => ({
    kind,
    name,
    reason,
    ...placeOf({ placed }),
  })),
  unchanged,
  notes,
  withheld,
  problems,
})
export const outcomesJson = (outcomes: readonly Outcome[]) =>
  outcomes.map(({ step, result, error }) => ({
    ...stepJson(step),
    result,
    error: error?.body ?? (error ? { error: error.message, code: error.exit } : null),
  }))
