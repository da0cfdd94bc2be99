import {
  type KeyboardEvent,
  startTransition,
  useEffect,
  useEffectEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import type { Action } from '../actions.ts'
import { Kbd } from '../inputs/Button.tsx'
import css from './CommandPalette.module.css'
import { cx } from '../cx.ts'
import { useFocusBack } from './focus-back.ts'
import { Icon } from '../pictures/Icon.tsx'

export interface PaletteGroup {
  heading: string
  /** Results of a search on the server, which are not filtered again. */
  found?: boolean
  actions: readonly Action[]
}

/** Whether every word of the search occurs in the label or the hint. */
export function matches(action: Pick<Action, 'label' | 'hint'>, search: string): boolean {
  const text = `${action.label} ${action.hint ?? ''}`.toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

const wordsOf = (text: string): string[] => text.toLowerCase().split(/[^\p{L}\p{N}]+/u)

/**
 * How well an action fits the search: 0 if every word of the search begins a word of the label, 1
 * if it begins one of the label or the hint, 2 if it is only somewhere in them.
 */
export function fitOf({ label, hint = '' }: Pick<Action, 'label' | 'hint'>, search: string) {
  const searched = wordsOf(search)
  const begin = (words: readonly string[]) =>
    searched.every((part) => words.some((word) => word.startsWith(part)))
  if (begin(wordsOf(label))) return 0
  return begin(wordsOf(`${label} ${hint}`)) ? 1 : 2
}

/** The groups with the best fit first, and so in each group. Equal ones keep their order. */
export function byFit(groups: readonly PaletteGroup[], search: string): PaletteGroup[] {
  const best = ({ actions }: PaletteGroup) => Math.min(...actions.map((one) => fitOf(one, search)))
  return groups
    .map((group) => ({
      ...group,
      actions: group.actions.toSorted((a, b) => fitOf(a, search) - fitOf(b, search)),
    }))
    .toSorted((a, b) => best(a) - best(b))
}

const hints = [
  ['move', '↑', '↓'],
  ['open', '↵'],
  ['close', 'esc'],
] as const

/**
 * Entries of the first frame: more than the list has room for. The others follow in the next frame,
 * so that the palette opens sooner.
 */
const firstEntries = 12

/** Index of the initially selected entry: the first enabled entry. -1 if no entry is enabled. */
export const firstAble = (actions: readonly Action[]): number =>
  actions.findIndex((action) => action.can?.ok !== false)

interface CommandPaletteProps {
  open: boolean
  onClose: () => void
  search: string
  onSearch: (search: string) => void
  groups: readonly PaletteGroup[]
  onGo: (href: string) => void
  busy?: boolean
}

/**
 * The command palette. Filters `groups` by the typed text, except groups with results from the
 * server. A modal dialog of Radix would style every element of the page again and move the focus
 * several times. This one covers the page with its scrim, and Tab stays in the field.
 */
export function CommandPalette({ open, ...props }: CommandPaletteProps) {
  return open && createPortal(<Opened {...props} />, document.body)
}

function Opened({
  onClose,
  search,
  onSearch,
  groups,
  onGo,
  busy = false,
}: Omit<CommandPaletteProps, 'open'>) {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  /**
   * Selected entry. Null until the user presses an arrow key, because later results may be inserted
   * above.
   */
  const [at, setAt] = useState<number | null>(null)
  const [isPainted, setPainted] = useState(false)
  useEffect(() => {
    const frame = requestAnimationFrame(() => startTransition(() => setPainted(true)))
    return () => cancelAnimationFrame(frame)
  }, [])
  const isWhole = isPainted || at !== null || search !== ''
  const searched = search.trim()
  const matching = groups
    .map((group) => ({
      ...group,
      actions: group.found
        ? group.actions
        : group.actions.filter((action) => matches(action, searched)),
    }))
    .filter((group) => group.actions.length > 0)
  const shown = searched === '' ? matching : byFit(matching, searched)
  const flat = shown.flatMap((group) => group.actions)
  const current = at === null ? firstAble(flat) : Math.min(at, flat.length - 1)
  useEffect(() => {
    list.current?.querySelector(`[data-at="${current}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [current])
  const giveBack = useEffectEvent(useFocusBack(true))
  const close = useEffectEvent(onClose)
  useLayoutEffect(() => {
    field.current?.focus({ preventScroll: true })
    // After the palette has been removed: as long as the focus is in a dialog, it is not given
    // back.
    return () => queueMicrotask(() => giveBack(new Event('close')))
  }, [])
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key !== 'Escape') return
      event.preventDefault()
      event.stopImmediatePropagation()
      close()
    }
    // On the window, so that Escape doesn't also close a dialog below, which listens on the
    // document.
    window.addEventListener('keydown', onKey, { capture: true })
    return () => window.removeEventListener('keydown', onKey, { capture: true })
  }, [])
  const pick = (action: Action | undefined) => {
    if (action === undefined || action.can?.ok === false) return
    onClose()
    if (action.to !== undefined) onGo(action.to)
    else action.run?.()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined)
      setAt(
        flat.length === 0
          ? null
          : (Math.max(current, step > 0 ? -1 : 0) + step + flat.length) % flat.length,
      )
    else if (event.key === 'Tab') event.preventDefault()
    else if (event.key === 'Enter' && !event.nativeEvent.isComposing) pick(flat[current])
    else return
    event.preventDefault()
  }
  return (
    <>
      <div className={css['scrim']} aria-hidden="true" onClick={onClose} />
      <div
        role="dialog"
        aria-modal="true"
        aria-label="Search and commands"
        className={css['palette']}
        tabIndex={-1}
      >
        <label className={css['in']}>
          <Icon name="search" />
          <span className="sr">Go to or do anything</span>
          <input
            ref={field}
            value={search}
            placeholder="Go to or do anything"
            role="combobox"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={current >= 0 ? `${id}-${current}` : undefined}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => {
              onSearch(event.target.value)
              setAt(null)
            }}
            onKeyDown={onKeyDown}
          />
        </label>
        <div
          className={css['list']}
          id={`${id}-list`}
          role="listbox"
          aria-label="Results"
          ref={list}
          tabIndex={-1}
        >
          {shown.map((group) => (
            <div key={group.heading} role="group" aria-label={group.heading}>
              <div className={css['label']} aria-hidden="true">
                {group.heading}
              </div>
              {group.actions.map((action) => {
                const index = flat.indexOf(action)
                if (!isWhole && index >= firstEntries) return null
                const refused = action.can?.ok === false ? action.can.reason : null
                return (
                  <div
                    key={`${action.label} ${action.to ?? ''}`}
                    id={`${id}-${index}`}
                    data-at={index}
                    role="option"
                    tabIndex={-1}
                    aria-selected={index === current}
                    aria-disabled={refused !== null || undefined}
                    className={cx(
                      css['item'],
                      index === current && css['on'],
                      action.danger && refused === null && css['danger'],
                    )}
                    onPointerMove={() => setAt(index)}
                    onClick={() => pick(action)}
                    onKeyDown={onKeyDown}
                  >
                    <Icon
                      name={
                        action.icon ?? (action.to === undefined ? 'chevron-right' : 'arrow-right')
                      }
                    />
                    <span className="clip">{action.label}</span>
                    {(refused ?? action.hint) !== undefined && (
                      <span className={css['hint']}>{refused ?? action.hint}</span>
                    )}
                  </div>
                )
              })}
            </div>
          ))}
          {flat.length === 0 && (
            <p className={css['none']}>
              {busy ? 'Searching…' : `No result for “${search.trim()}”.`}
            </p>
          )}
        </div>
        <div className={css['foot']} aria-hidden="true">
          {hints.map(([does, ...keys]) => (
            <span key={does}>
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
              {does}
            </span>
          ))}
        </div>
      </div>
    </>
  )
}
