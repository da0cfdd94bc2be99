import { type RefObject, useEffect, useImperativeHandle, useRef, useState } from 'react'
import type { Action } from '../actions.ts'
import { loadMenu } from '../overlay/Menu.tsx'
import { onceOpened } from '../part.tsx'

const View = onceOpened(loadMenu, { centred: false })

export interface RowMenuHandle {
  /** Opens the menu at a row's button, or closes the menu if it is open at this button. */
  toggle(button: HTMLElement, items: () => readonly Action[]): void
}

interface Asked {
  button: HTMLElement
  items: readonly Action[]
}

/**
 * One menu for all rows of a table, shown at the clicked row's button. Rendered from the first
 * click on.
 */
export function RowMenu({ ref }: { ref: RefObject<RowMenuHandle | null> }) {
  const [asked, setAsked] = useState<Asked>()
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLElement>(null)
  useImperativeHandle(ref, () => ({
    toggle(at, items) {
      setOpen(!open || button.current !== at)
      button.current = at
      setAsked({ button: at, items: items() })
    },
  }))
  useEffect(() => {
    if (!open || asked === undefined) return undefined
    asked.button.setAttribute('aria-expanded', 'true')
    return () => asked.button.setAttribute('aria-expanded', 'false')
  }, [open, asked])
  if (asked === undefined) return null
  return (
    <View
      open={open}
      label={asked.button.ariaLabel ?? ''}
      items={asked.items}
      align="end"
      onOpen={setOpen}
      focusBack={() => asked.button.focus()}
      within={button}
    />
  )
}
