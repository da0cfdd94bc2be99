import { cloneElement, type HTMLAttributes, lazy, type ReactElement, type ReactNode, Suspense, useRef, useState } from 'react'
import { patiently } from '../../lib/code.ts'
import type { Action } from '../actions.ts'
import css from './Menu.module.css'

export interface MenuChoice extends Action {
  /** Makes the item a checkbox. */
  checked?: boolean
  /** Shown below the label. */
  note?: string
  /** Keeps the menu open after a click. */
  stay?: boolean
}
export type MenuItem = MenuChoice | 'rule' | { heading: ReactNode } | { label: string; icon?: Action['icon']; items: readonly MenuItem[] }

const loadView = patiently(() => import('./MenuView.tsx'))
const View = lazy(loadView)

type TriggerProps = HTMLAttributes<HTMLElement> & { ref?: React.Ref<HTMLElement> }

interface MenuProps {
  label: string
  trigger: ReactElement<TriggerProps>
  items: readonly MenuItem[] | (() => readonly MenuItem[])
  align?: 'start' | 'center' | 'end'
  onOpen?: () => void
}

/**
 * A menu below a button. `trigger` is the button and must pass on the handlers that it receives. The menu's code loads on hover or focus.
 * Disabled items stay visible and say why.
 */
export function Menu({ label, trigger, items, align = 'end', onOpen }: MenuProps) {
  const [open, setOpen] = useState(false)
  const [wanted, setWanted] = useState(false)
  const anchor = useRef<HTMLSpanElement>(null)
  const given = trigger.props
  // A failure shows where the menu renders.
  const near = () => void loadView().catch(() => undefined)
  const toggle = (to: boolean) => {
    if (to) {
      setWanted(true)
      onOpen?.()
    }
    setOpen(to)
  }
  const button = cloneElement(trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': open,
    onPointerEnter: (event) => {
      given.onPointerEnter?.(event)
      near()
    },
    onFocus: (event) => {
      given.onFocus?.(event)
      near()
    },
    onClick: (event) => {
      given.onClick?.(event)
      event.stopPropagation()
      toggle(!open)
    },
    onKeyDown: (event) => {
      given.onKeyDown?.(event)
      if (event.key !== 'ArrowDown' || open) return
      event.preventDefault()
      event.stopPropagation()
      toggle(true)
    },
  })
  return (
    <span className={css['root']} ref={anchor}>
      {button}
      {wanted && (
        <Suspense fallback={null}>
          <View
            open={open}
            label={label}
            items={typeof items === 'function' && open ? items() : typeof items === 'function' ? [] : items}
            align={align}
            onOpen={setOpen}
            focusBack={() => anchor.current?.querySelector<HTMLElement>('button,a')?.focus()}
            within={anchor}
          />
        </Suspense>
      )}
    </span>
  )
}
