import {
  type CSSProperties,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useEffectEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { createPortal, flushSync } from 'react-dom'
import { useMedia } from '../../lib/use-media.ts'
import { cx } from '../cx.ts'
import { Icon } from '../pictures/Icon.tsx'
import type { MenuItem } from './Menu.tsx'
import css from './Menu.module.css'
import { placeBelow, placeBeside, placeOf } from './place.ts'

/**
 * Overlap of a submenu and its parent menu on narrow screens. Menus are at least 208 px wide, so a
 * strip of the parent stays visible.
 */
const overlapPx = 196
/** A submenu opens this long after the pointer has come to its item, in ms. Specified. */
const hoverMs = 100
/**
 * A submenu closes this long after the focus has left it, in ms, so that the pointer may cross
 * other items on its way to the submenu. Specified.
 */
const leaveMs = 300
/** Letters that are typed within this time, in ms, are searched together. Specified. */
const typingMs = 1_000

/** The click that closes a menu does nothing else, as in native menus. */
function swallowClick(): void {
  const swallow = (event: Event) => {
    event.preventDefault()
    event.stopPropagation()
  }
  document.addEventListener('click', swallow, { capture: true })
  const ended = new AbortController()
  const end = () => {
    ended.abort()
    setTimeout(() => document.removeEventListener('click', swallow, { capture: true }))
  }
  for (const type of ['pointerup', 'pointercancel'])
    document.addEventListener(type, end, { signal: ended.signal, capture: true })
}

const itemsIn = (panel: Element): HTMLElement[] => [
  ...panel.querySelectorAll<HTMLElement>('[role^="menuitem"]'),
]
const isInMenu = (target: unknown): boolean =>
  target instanceof Element && target.closest('[role="menu"]') !== null
const focus = (element: HTMLElement | null | undefined): void =>
  element?.focus({ preventScroll: true })

export interface MenuViewProps {
  open: boolean
  label: string
  items: readonly MenuItem[]
  align: 'start' | 'end'
  onOpen: (open: boolean) => void
  /** Gives the focus back to the menu's button. */
  focusBack: () => void
  /** The menu's button, or an element around it. */
  within: RefObject<HTMLElement | null>
}

/**
 * The menu of a button, without the button. Our own, because the menu of a long list opens in a
 * frame only if its place is computed once and nothing of the page around it is styled again
 * ([decision 008](../../../../docs/decisions/008-forms-and-dialogs.md)). Keyboard and roles follow the menu
 * of the ARIA practices guide.
 */
export default function MenuView({ open, ...props }: MenuViewProps) {
  return open && <Opened {...props} />
}

function Opened({ label, items, align, onOpen, focusBack, within }: Omit<MenuViewProps, 'open'>) {
  const panel = useRef<HTMLDivElement>(null)
  // The menu is in the dialog that contains its button, or else in the page's `main` element.
  const [container] = useState(
    () =>
      within.current?.closest<HTMLElement>('[role="dialog"]') ??
      document.querySelector('main') ??
      document.body,
  )
  // Most menus fit below their button. The browser then lays the menu out once, and not again after
  // it was measured.
  const [place] = useState(() => placeOf(within.current!.getBoundingClientRect(), align))
  const close = useEffectEvent(() => onOpen(false))
  const giveBack = useEffectEvent(focusBack)
  useLayoutEffect(() => {
    const [box, button] = [panel.current!, within.current!]
    placeBelow(box, button.getBoundingClientRect(), align)
    const isByKeyboard =
      button.matches(':focus-visible') || button.querySelector(':focus-visible') !== null
    focus(isByKeyboard ? itemsIn(box)[0] : box)
    return () => {
      if (isInMenu(document.activeElement)) giveBack()
    }
  }, [within, align])
  useEffect(() => {
    const ended = new AbortController()
    const how = { capture: true, signal: ended.signal }
    const isOutside = ({ target }: Event) =>
      !isInMenu(target) && !within.current?.contains(target as Node)
    document.addEventListener(
      'pointerdown',
      (event) => {
        // The button's own handler closes the menu. If the menu were closed here first, the same
        // click would open it again.
        if (!isOutside(event)) return
        swallowClick()
        close()
      },
      how,
    )
    document.addEventListener('focusin', (event) => isOutside(event) && close(), how)
    // On the window, so that Escape closes the menu only, and not the dialog around it, which
    // listens on the document.
    window.addEventListener(
      'keydown',
      (event) => {
        if (event.key !== 'Escape') return
        event.preventDefault()
        event.stopImmediatePropagation()
        close()
      },
      how,
    )
    document.addEventListener(
      'scroll',
      ({ target }) => {
        if (isInMenu(target)) return
        if (within.current?.isConnected)
          placeBelow(panel.current!, within.current.getBoundingClientRect(), align)
        else close()
      },
      { ...how, passive: true },
    )
    window.addEventListener('resize', () => close(), how)
    return () => ended.abort()
  }, [within, align])
  return createPortal(
    <Panel {...{ label, items, panel, place }} onClose={() => onOpen(false)} />,
    container,
  )
}

interface PanelProps {
  label: string
  items: readonly MenuItem[]
  panel: RefObject<HTMLDivElement | null>
  /** Where the menu appears. A submenu is placed once its size is known. */
  place?: CSSProperties
  /** Closes the whole menu. */
  onClose: () => void
  /** Closes this submenu. */
  onBack?: () => void
}

const refusedBecause = (item: MenuItem): string | null =>
  typeof item === 'object' && 'can' in item && item.can?.ok === false ? item.can.reason : null

/** The reason that most refused items of a menu have in common; null unless several have it. */
function sharedReason(items: readonly MenuItem[]): string | null {
  const counts = new Map<string, number>()
  for (const reason of items.map(refusedBecause))
    if (reason !== null) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const most = Math.max(...counts.values())
  return most > 1 ? [...counts].find(([, count]) => count === most)![0] : null
}

function Panel({ label, items, panel, place, onClose, onBack }: PanelProps) {
  const id = useId()
  const shared = sharedReason(items)
  const typed = useRef({ text: '', at: 0 })
  /**
   * The next item whose text begins with the typed letters. A repeated letter goes on to the next
   * item that begins with it.
   */
  const search = (
    all: readonly HTMLElement[],
    at: number,
    letter: string,
  ): HTMLElement | undefined => {
    const isNew = performance.now() - typed.current.at > typingMs
    const text = ((isNew ? '' : typed.current.text) + letter).toLowerCase()
    typed.current = { text, at: performance.now() }
    const isRepeated = text === text.charAt(0).repeat(text.length)
    const from = Math.max(0, isRepeated ? at + 1 : at)
    return [...all.slice(from), ...all.slice(0, from)].find((item) =>
      item.innerText
        .trim()
        .toLowerCase()
        .startsWith(isRepeated ? text.charAt(0) : text),
    )
  }
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const all = itemsIn(event.currentTarget)
    const at = all.indexOf(document.activeElement as HTMLElement)
    const { key } = event
    const isModified = event.ctrlKey || event.metaKey || event.altKey
    const to = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: at < 0 ? -1 : at - 1,
      Home: 0,
      PageUp: 0,
      End: -1,
      PageDown: -1,
    }[key]
    if (to !== undefined) focus(all.at(to))
    else if (isModified) return
    else if (key === 'ArrowLeft' && onBack) onBack()
    else if (key === 'Enter' || key === ' ') all[at]?.click()
    else if (key.length === 1) focus(search(all, at, key))
    else if (key !== 'Tab') return
    event.preventDefault()
    event.stopPropagation()
  }
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    if (event.pointerType !== 'mouse') return
    const item = (event.target as Element).closest<HTMLElement>('[role^="menuitem"]')
    if (item !== null && item !== document.activeElement && event.currentTarget.contains(item))
      focus(item)
  }
  const onPointerLeave = ({
    pointerType,
    currentTarget,
    relatedTarget,
  }: PointerEvent<HTMLDivElement>) => {
    if (pointerType === 'mouse' && !isInMenu(relatedTarget)) focus(currentTarget)
  }
  return (
    <div
      ref={panel}
      role="menu"
      aria-label={label}
      tabIndex={-1}
      className={css['menu']}
      style={place}
      onKeyDown={onKeyDown}
      onPointerMove={onPointerMove}
      onPointerLeave={onPointerLeave}
      // Stops clicks from reaching the row, except on links, which the router must handle to avoid
      // a full page load.
      onClick={(event) =>
        !(event.target instanceof Element && event.target.closest('a[href]')) &&
        event.stopPropagation()
      }
    >
      {shared !== null && (
        <div className={css['shared']} id={id}>
          {shared}
        </div>
      )}
      {items.map((item, i) => {
        if (item === 'rule')
          return <div key={`rule ${i}`} role="separator" className={css['rule']} />
        if ('heading' in item)
          return (
            <div key={`heading ${i}`} className={css['label']}>
              {item.heading}
            </div>
          )
        return 'items' in item ? (
          <SubMenu key={item.label} item={item} onClose={onClose} />
        ) : (
          <Item
            key={item.id ?? item.label}
            item={item}
            onClose={onClose}
            saidAt={shared !== null && refusedBecause(item) === shared ? id : undefined}
          />
        )
      })}
    </div>
  )
}

function Item({
  item,
  onClose,
  saidAt,
}: {
  item: Exclude<MenuItem, string | { heading: ReactNode } | { items: unknown }>
  onClose: () => void
  /** Id of the element that says why this item and others are refused. */
  saidAt: string | undefined
}) {
  const refused = item.can?.ok === false ? item.can.reason : null
  const inside = (
    <>
      {item.checked !== undefined && (
        <span className={css['mark']}>{item.checked && <Icon name="check" />}</span>
      )}
      {item.icon && <Icon name={item.icon} />}
      <span className="grow">
        {item.label}
        {item.note !== undefined && <small className="t2">{item.note}</small>}
        {refused !== null && saidAt === undefined && <small>{refused}</small>}
      </span>
      {item.hint !== undefined && <span className={css['hint']}>{item.hint}</span>}
    </>
  )
  const props = {
    role: item.checked === undefined ? 'menuitem' : 'menuitemcheckbox',
    className: cx(css['item'], item.danger && refused === null && css['danger']),
    tabIndex: -1,
    'aria-checked': item.checked,
    // A refused item can still get the focus, so that screen readers read its reason.
    'aria-disabled': refused !== null || undefined,
    'aria-describedby': refused === null ? undefined : saidAt,
    onClick: () => {
      if (refused !== null) return
      item.run?.()
      if (!item.stay) onClose()
    },
  }
  return item.to !== undefined && refused === null ? (
    <a href={item.to} {...props}>
      {inside}
    </a>
  ) : (
    <div {...props}>{inside}</div>
  )
}

/** An item with a submenu beside the menu, or on top of the menu if there is no room. */
function SubMenu({
  item: { label, icon, items },
  onClose,
}: {
  item: Extract<MenuItem, { items: unknown }>
  onClose: () => void
}) {
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLDivElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const isNarrow = useMedia('below', 'sm')
  const opening = useRef(0)
  const leaving = useRef(0)
  const stop = () => {
    clearTimeout(opening.current)
    clearTimeout(leaving.current)
  }
  const stopAtEnd = useEffectEvent(stop)
  useEffect(() => () => stopAtEnd(), [])
  useLayoutEffect(() => {
    if (open)
      placeBeside(
        panel.current!,
        button.current!.getBoundingClientRect(),
        isNarrow ? overlapPx : -4,
      )
  }, [open, isNarrow])
  const enter = () => {
    stop()
    flushSync(() => setOpen(true))
    focus(itemsIn(panel.current!)[0])
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowRight') return
    event.preventDefault()
    event.stopPropagation()
    enter()
  }
  const onPointerMove = ({ pointerType }: PointerEvent) => {
    if (pointerType !== 'mouse' || open) return
    clearTimeout(opening.current)
    opening.current = window.setTimeout(() => setOpen(true), hoverMs)
  }
  // React passes the focus events of the submenu here, too.
  const onFocus = () => clearTimeout(leaving.current)
  const onBlur = () => {
    stop()
    leaving.current = window.setTimeout(() => setOpen(false), leaveMs)
  }
  return (
    <div role="none" {...{ onFocus, onBlur }}>
      <div
        ref={button}
        role="menuitem"
        aria-haspopup="menu"
        aria-expanded={open}
        tabIndex={-1}
        className={css['item']}
        onClick={enter}
        onKeyDown={onKeyDown}
        onPointerMove={onPointerMove}
      >
        {icon && <Icon name={icon} />}
        {label}
        <Icon name="chevron-right" className={css['hint']} />
      </div>
      {open &&
        createPortal(
          <Panel
            {...{ label, items, panel, onClose }}
            onBack={() => {
              setOpen(false)
              focus(button.current)
            }}
          />,
          button.current!.closest('[role="menu"]')!.parentElement!,
        )}
    </div>
  )
}
