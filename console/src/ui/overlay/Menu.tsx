import {
  cloneElement,
  type HTMLAttributes,
  type ReactElement,
  type ReactNode,
  useRef,
  useState,
} from 'react'
import type { Action } from '../actions.ts'
import { onceOpened } from '../part.tsx'
import css from './Menu.module.css'
import type { MenuViewProps } from './MenuView.tsx'
import { after } from './Tooltip.tsx'

export interface MenuChoice extends Action {
  /** Tells items with the same label apart. */
  id?: string
  /** Makes the item a checkbox. */
  checked?: boolean
  /** Shown below the label. */
  note?: string
  /** Keeps the menu open after a click. */
  stay?: boolean
}
export type MenuItem =
  | MenuChoice
  | 'rule'
  | { heading: ReactNode }
  | { label: string; icon?: Action['icon']; items: readonly MenuItem[] }

export const loadMenu = () => import('./MenuView.tsx')
/**
 * Loads the menu's code before it is needed. A failure is ignored here: the error shows when the
 * menu renders.
 */
export const preloadMenu = () => void loadMenu().catch(() => undefined)
const View = onceOpened(loadMenu, { centred: false })

type TriggerProps = HTMLAttributes<HTMLElement> & { ref?: React.Ref<HTMLElement> }

interface MenuProps {
  label: string
  trigger: ReactElement<TriggerProps>
  items?: readonly MenuItem[] | (() => readonly MenuItem[])
  /** Instead of `items`, if the code that makes them loads with the menu. */
  render?: (menu: Omit<MenuViewProps, 'items'>) => ReactNode
  align?: 'start' | 'end'
}

/**
 * A menu below a button. `trigger` is the button and must pass on the handlers that it receives.
 * The menu's code loads on hover or focus. Disabled items stay visible and say why.
 */
export function Menu({ label, trigger, items = [], render, align = 'end' }: MenuProps) {
  const [open, setOpen] = useState(false)
  const anchor = useRef<HTMLSpanElement>(null)
  const given = trigger.props
  const button = cloneElement(trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': open,
    onPointerEnter: after(given.onPointerEnter, preloadMenu),
    onFocus: after(given.onFocus, preloadMenu),
    onClick: after(given.onClick, (event) => {
      event.stopPropagation()
      setOpen(!open)
    }),
    onKeyDown: after(given.onKeyDown, (event) => {
      if (event.key !== 'ArrowDown' || open) return
      event.preventDefault()
      event.stopPropagation()
      setOpen(true)
    }),
  })
  const menu = {
    open,
    label,
    align,
    onOpen: setOpen,
    focusBack: () => anchor.current?.querySelector<HTMLElement>('button,a')?.focus(),
    within: anchor,
  }
  return (
    <span className={css['root']} ref={anchor}>
      {button}
      {render === undefined ? (
        <View {...menu} items={typeof items !== 'function' ? items : open ? items() : []} />
      ) : (
        render(menu)
      )}
    </span>
  )
}
