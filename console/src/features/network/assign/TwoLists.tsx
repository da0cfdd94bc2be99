import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import type { Verdict } from '#contract/rule.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { cx } from '../../../ui/cx.ts'
import css from './AssignSubnets.module.css'

export interface Entry {
  id: string
  shown: ReactNode
  can: Verdict
}

interface TwoListsProps {
  left: readonly Entry[]
  right: readonly Entry[]
  leftTitle: string
  rightTitle: string
  leftEmpty: ReactNode
  rightEmpty: ReactNode
  onRight: (ids: readonly string[]) => void
  onLeft: (ids: readonly string[]) => void
}

/**
 * Two lists with buttons that move the selection between them. A double click or Enter moves an
 * entry too.
 */
export function TwoLists({
  left,
  right,
  leftTitle,
  rightTitle,
  leftEmpty,
  rightEmpty,
  onRight,
  onLeft,
}: TwoListsProps) {
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const root = useRef<HTMLDivElement>(null)
  // After the last entry has moved, the empty list is not rendered. The focus goes to the other
  // list.
  const before = useRef<number | null>(null)
  useEffect(() => {
    if (before.current === null || before.current === left.length) return
    before.current = null
    if (document.activeElement === document.body)
      root.current?.querySelector<HTMLElement>('[role="listbox"]')?.focus()
  })
  const of = (list: readonly Entry[]) =>
    list.filter((entry) => entry.can.ok && picked.has(entry.id)).map((entry) => entry.id)
  const [toRight, toLeft] = [of(left), of(right)]
  const move = (ids: readonly string[], how: (ids: readonly string[]) => void) => {
    if (ids.length === 0) return
    before.current = left.length
    how(ids)
    setPicked(new Set([...picked].filter((id) => !ids.includes(id))))
  }
  const none = (count: number): Verdict =>
    count > 0 ? { ok: true } : { ok: false, reason: 'Choose subnets in the list first' }
  return (
    <div className={css['lists']} ref={root}>
      <List
        title={leftTitle}
        entries={left}
        picked={picked}
        onPicked={setPicked}
        onMove={(ids) => move(ids, onRight)}
        empty={leftEmpty}
      />
      <div className={css['between']}>
        <Button
          iconAfter="arrow-right"
          can={none(toRight.length)}
          onClick={() => move(toRight, onRight)}
        >
          {toRight.length > 0 ? `Add ${toRight.length}` : 'Add'}
        </Button>
        <Button icon="arrow-left" can={none(toLeft.length)} onClick={() => move(toLeft, onLeft)}>
          {toLeft.length > 0 ? `Remove ${toLeft.length}` : 'Remove'}
        </Button>
      </div>
      <List
        title={rightTitle}
        entries={right}
        picked={picked}
        onPicked={setPicked}
        onMove={(ids) => move(ids, onLeft)}
        empty={rightEmpty}
      />
    </div>
  )
}

interface ListProps {
  title: string
  entries: readonly Entry[]
  picked: ReadonlySet<string>
  onPicked: (picked: ReadonlySet<string>) => void
  onMove: (ids: readonly string[]) => void
  empty: ReactNode
}

/**
 * A list. Keys: arrows move, Space selects, Ctrl+A selects all, Enter moves the selection or the
 * current entry.
 */
function List({ title, entries, picked, onPicked, onMove, empty }: ListProps) {
  const id = useId()
  const [at, setAt] = useState(0)
  const [focused, setFocused] = useState(false)
  const current = Math.min(at, entries.length - 1)
  const chosen = entries.filter((entry) => entry.can.ok && picked.has(entry.id))
  const toggle = (entry: Entry | undefined) => {
    if (!entry?.can.ok) return
    const next = new Set(picked)
    if (!next.delete(entry.id)) next.add(entry.id)
    onPicked(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const entry = entries[current]
    const step = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: entries.length - 1 }[
      event.key
    ]
    if (step !== undefined) {
      const to = Math.max(0, Math.min(entries.length - 1, step))
      setAt(to)
      document.getElementById(`${id}-${to}`)?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === ' ') toggle(entry)
    else if (event.key === 'Enter')
      onMove(chosen.length > 0 ? chosen.map((e) => e.id) : entry?.can.ok ? [entry.id] : [])
    else if (event.key.toLowerCase() === 'a' && (event.ctrlKey || event.metaKey))
      onPicked(new Set([...picked, ...entries.filter((e) => e.can.ok).map((e) => e.id)]))
    else return
    event.preventDefault()
  }
  return (
    <section className={css['list']}>
      <header>
        <h2 className="h2" id={`${id}-title`}>
          {title}
        </h2>
        <span className="t3 fs13 num">{entries.length}</span>
      </header>
      {entries.length === 0 ? (
        <p className={css['none']}>{empty}</p>
      ) : (
        <div
          role="listbox"
          aria-multiselectable="true"
          aria-labelledby={`${id}-title`}
          aria-activedescendant={`${id}-${current}`}
          tabIndex={0}
          className={css['box']}
          onKeyDown={onKeyDown}
          onFocus={() => setFocused(true)}
          onBlur={() => setFocused(false)}
        >
          {entries.map((entry, i) => (
            <div
              key={entry.id}
              id={`${id}-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={entry.can.ok && picked.has(entry.id)}
              aria-disabled={!entry.can.ok || undefined}
              className={cx(css['option'], focused && i === current && css['at'])}
              onClick={() => {
                setAt(i)
                toggle(entry)
              }}
              onDoubleClick={() => entry.can.ok && onMove([entry.id])}
              onKeyDown={onKeyDown}
            >
              {entry.shown}
              {!entry.can.ok && <span className={css['why']}>{entry.can.reason}</span>}
            </div>
          ))}
        </div>
      )}
    </section>
  )
}
