import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { Action } from '../actions.ts'
import { reasonOf } from '../../lib/reason.ts'
import { count } from '../../lib/units.ts'
import { useMedia } from '../../lib/use-media.ts'
import { Button, ButtonLink, IconButton } from '../inputs/Button.tsx'
import css from './BulkBar.module.css'
import { toast } from '../feedback/toast.ts'
import { Menu } from '../overlay/Menu.tsx'
import type { Selection } from './selection.ts'

interface BulkBarProps {
  selection: Selection
  actions: readonly Action[]
  note?: ReactNode
  /** Number of matches on all pages. */
  matching?: number
  /** Reads the keys of all matches. */
  onSelectMatching?: () => Promise<readonly string[]>
}

/** Selects all matches, unless the selection was cleared or the list has changed meanwhile. */
function useSelectMatching({ selection, matching, onSelectMatching }: BulkBarProps) {
  const [isReading, setReading] = useState(false)
  const latest = useRef<number | null>(null)
  useEffect(() => {
    latest.current = matching ?? 0
    return () => {
      latest.current = null
    }
  }, [matching])
  const select = async () => {
    if (isReading || onSelectMatching === undefined) return
    const of = latest.current
    setReading(true)
    try {
      const keys = await onSelectMatching()
      if (latest.current === of) selection.set(keys)
      else if (latest.current !== null)
        toast.info('The list has changed meanwhile: select all again')
    } catch (error) {
      toast.error(`Not all could be selected: ${reasonOf(error)}`)
    } finally {
      setReading(false)
    }
  }
  return { isReading, select }
}

/** Number of actions that are buttons; the others are in a menu. */
const mostButtons = 3

/** Actions on the selected rows, at the bottom of the screen. The first one is primary. */
export default function BulkBar(props: BulkBarProps) {
  const { selection, actions, note, matching, onSelectMatching } = props
  const { isReading, select } = useSelectMatching(props)
  // A phone has room for one button.
  const isSmall = useMedia('below', 'sm')
  const buttons = isSmall ? 1 : mostButtons
  return (
    <div className={css['bar']} role="region" aria-label="Selection">
      <b aria-live="polite">{count(selection.size)} selected</b>
      {note !== undefined && <span className={css['note']}>{note}</span>}
      {matching !== undefined && matching > selection.size && onSelectMatching && (
        <button
          type="button"
          className={css['link']}
          aria-busy={isReading}
          onClick={() => void select()}
        >
          Select all {count(matching)}
        </button>
      )}
      <span className={css['rule']} />
      {actions.slice(0, buttons).map((action, i) => {
        const kind = action.danger ? 'danger' : i === 0 ? 'primary' : 'plain'
        return action.to !== undefined && action.can?.ok !== false ? (
          <ButtonLink key={action.label} kind={kind} size="small" href={action.to}>
            {action.label}
          </ButtonLink>
        ) : (
          <Button
            key={action.label}
            kind={kind}
            size="small"
            can={action.can}
            onClick={() => action.run?.()}
          >
            {action.label}
          </Button>
        )
      })}
      {actions.length > buttons && (
        <Menu
          label="More for the selection"
          items={actions.slice(buttons)}
          trigger={
            <Button size="small" iconAfter="chevron-down" aria-label="More for the selection">
              More
            </Button>
          }
        />
      )}
      <span className={css['rule']} />
      <IconButton icon="close" label="Clear selection" onClick={selection.clear} />
    </div>
  )
}
