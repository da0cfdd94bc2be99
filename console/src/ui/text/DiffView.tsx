import { type ReactNode, useMemo, useState } from 'react'
import { counted } from '#contract/words.ts'
import { collapse, diffLines, type DiffLine } from '#contract/servers/diff.ts'
import css from './DiffView.module.css'
import { cx } from '../cx.ts'
import { unrecorded } from './unrecorded.ts'

/**
 * The layer (such as a patch) that a line of the configuration comes from. `line` counts from 1.
 */
export interface LineSource {
  line: number
  layer: string
}

/** Scrollable boxes must be focusable (WCAG 2.1.1). */
const reachable = { tabIndex: 0 }

interface DiffViewProps {
  before: string
  after: string
  /** Layers of the lines of `after`. */
  sources?: readonly LineSource[]
  /** Layers of the lines of `before`. */
  removed?: readonly LineSource[]
  label: string
  whole?: boolean
  /** The layer that is being edited. */
  emphasize?: string
  empty?: ReactNode
}

/**
 * A configuration before and after, each line with its layer. Unchanged lines are folded unless
 * `whole`.
 */
export function DiffView({
  before,
  after,
  sources = [],
  removed = [],
  label,
  whole = false,
  emphasize,
  empty = 'No difference.',
}: DiffViewProps) {
  const lines = useMemo(() => diffLines(before, after), [before, after])
  const of = useMemo(() => new Map(sources.map((s) => [s.line, s.layer])), [sources])
  const was = useMemo(() => new Map(removed.map((s) => [s.line, s.layer])), [removed])
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set())
  const parts = useMemo(
    () => (whole ? [{ from: 0, lines, hidden: false as const }] : collapse(lines)),
    [lines, whole],
  )
  if (!whole && !lines.some((l) => l.kind !== 'same'))
    return <p className={css['empty']}>{empty}</p>
  // Without layers there is no column for them.
  const plain = sources.length + removed.length === 0
  return (
    <div
      className={cx(css['diff'], plain && css['plain'])}
      role="group"
      aria-label={label}
      {...reachable}
      {...unrecorded}
    >
      {parts.map((part) =>
        part.hidden && !opened.has(part.from) ? (
          <button
            key={part.from}
            type="button"
            className={css['hunk']}
            onClick={() => setOpened((now) => new Set(now).add(part.from))}
          >
            {counted(part.lines.length, 'unchanged line')}
          </button>
        ) : (
          part.lines.map((line, i) => (
            <Line
              key={part.from + i}
              line={line}
              source={line.after === null ? was.get(line.before ?? 0) : of.get(line.after)}
              emphasize={emphasize}
            />
          ))
        ),
      )}
    </div>
  )
}

const sign = { same: ' ', add: '+', remove: '−' } as const
const said = { same: '', add: 'added', remove: 'removed' } as const

function Line({
  line,
  source,
  emphasize,
}: {
  line: DiffLine
  source: string | undefined
  emphasize: string | undefined
}) {
  return (
    <div className={cx(css['line'], css[line.kind])}>
      <b>{line.before ?? ''}</b>
      <b>{line.after ?? ''}</b>
      <span className={css['sign']}>
        <span aria-hidden="true">{sign[line.kind]}</span>
        <span className="sr">{said[line.kind]}</span>
      </span>
      <span className={css['text']}>
        <Yaml text={line.text} />
      </span>
      <span
        className={cx(css['source'], source !== undefined && source === emphasize && css['mine'])}
        title={source}
      >
        {source}
      </span>
    </div>
  )
}

/** One line of YAML with approximate highlighting. */
export function Yaml({ text }: { text: string }) {
  const comment = /^(\s*)(#.*)$/.exec(text)
  if (comment)
    return (
      <>
        {comment[1]}
        <i className={css['com']}>{comment[2]}</i>
      </>
    )
  const pair = /^(\s*(?:- )*)(?!- )("[^"]*"|'[^']*'|[^\s#'"][^:#]*?)(:)(\s.*)?$/.exec(text)
  if (pair)
    return (
      <>
        {pair[1]}
        <i className={css['key']}>{pair[2]}</i>
        {pair[3]}
        <Value text={pair[4] ?? ''} />
      </>
    )
  const dashes = /^\s*(?:- )+/.exec(text)?.[0]
  return dashes !== undefined ? (
    <>
      {dashes}
      <Value text={text.slice(dashes.length)} />
    </>
  ) : (
    <>{text}</>
  )
}

const Value = ({ text }: { text: string }) =>
  text.trim() === '' ? (
    text
  ) : (
    <i className={/^\s*(-?\d[\d.]*|true|false|null|~)\s*$/.test(text) ? css['num'] : css['str']}>
      {text}
    </i>
  )
