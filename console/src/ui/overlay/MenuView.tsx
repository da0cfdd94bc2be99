import { DropdownMenu } from 'radix-ui'
import type { ReactNode, RefObject } from 'react'
import { useMedia } from '../../lib/use-media.ts'
import { cx } from '../cx.ts'
import { Icon } from '../pictures/Icon.tsx'
import type { MenuItem } from './Menu.tsx'
import css from './Menu.module.css'

/** Overlap of a submenu and its parent menu. Menus are at least 208 px wide, so a strip of the parent stays visible. */
const overlapPx = 196

/** The click that closes a menu does nothing else, as in native menus. */
function swallowClick(): void {
  const swallow = (event: Event) => {
    event.preventDefault()
    event.stopPropagation()
  }
  document.addEventListener('click', swallow, { capture: true })
  document.addEventListener('pointerup', () => setTimeout(() => document.removeEventListener('click', swallow, { capture: true })), {
    once: true,
    capture: true,
  })
}

interface MenuViewProps {
  open: boolean
  label: string
  items: readonly MenuItem[]
  align: 'start' | 'end'
  onOpen: (open: boolean) => void
  focusBack: () => void
  within: RefObject<HTMLElement | null>
}

/** The menu. Its anchor lies under the real trigger, so that the menu's code can load later. */
export default function MenuView({ open, label, items, align, onOpen, focusBack, within }: MenuViewProps) {
  return (
    <DropdownMenu.Root open={open} onOpenChange={onOpen} modal={false}>
      <DropdownMenu.Trigger asChild>
        <span className={css['anchor']} aria-hidden="true" tabIndex={-1} />
      </DropdownMenu.Trigger>
      {/* Render the menu in the dialog that contains its button, or else in the page's `main` element. */}
      <DropdownMenu.Portal container={within.current?.closest<HTMLElement>('[role="dialog"]') ?? document.querySelector('main')}>
        <DropdownMenu.Content
          className={css['menu']}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          aria-label={label}
          aria-labelledby={undefined}
          loop
          // Stops clicks from reaching the row, except on links, which the router must handle to avoid a full page load.
          onClick={(event) => !(event.target instanceof Element && event.target.closest('a[href]')) && event.stopPropagation()}
          onCloseAutoFocus={(event) => {
            event.preventDefault()
            if (document.activeElement === document.body || document.activeElement === null) focusBack()
          }}
          onInteractOutside={(event) => {
            // The trigger's own handler closes the menu. If the menu were closed here first, the same click would open it again.
            if (within.current?.contains(event.target as Node)) event.preventDefault()
            else if (event.type.includes('pointerDownOutside')) swallowClick()
          }}
        >
          <Items items={items} />
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

/** A submenu beside the menu, or on top of the menu if there is no room. */
function SubMenu({ items }: { items: readonly MenuItem[] }) {
  const narrow = useMedia('below', 'sm')
  return (
    <DropdownMenu.SubContent className={css['menu']} sideOffset={narrow ? -overlapPx : 4} collisionPadding={8}>
      <Items items={items} />
    </DropdownMenu.SubContent>
  )
}

function Items({ items }: { items: readonly MenuItem[] }): ReactNode {
  return items.map((item, i) => {
    if (item === 'rule') return <DropdownMenu.Separator key={`rule ${i}`} className={css['rule']} />
    if ('heading' in item)
      return (
        <DropdownMenu.Label key={`heading ${i}`} className={css['label']}>
          {item.heading}
        </DropdownMenu.Label>
      )
    if ('items' in item) {
      return (
        <DropdownMenu.Sub key={item.label}>
          <DropdownMenu.SubTrigger className={css['item']}>
            {item.icon && <Icon name={item.icon} />}
            {item.label}
            <Icon name="chevron-right" className={css['hint']} />
          </DropdownMenu.SubTrigger>
          <DropdownMenu.Portal>
            <SubMenu items={item.items} />
          </DropdownMenu.Portal>
        </DropdownMenu.Sub>
      )
    }
    const refused = item.can?.ok === false ? item.can.reason : null
    const inside = (
      <>
        {item.checked !== undefined && <span className={css['mark']}>{item.checked && <Icon name="check" />}</span>}
        {item.icon && <Icon name={item.icon} />}
        <span className="grow">
          {item.label}
          {item.note !== undefined && <small className="t2">{item.note}</small>}
          {refused !== null && <small>{refused}</small>}
        </span>
        {item.hint !== undefined && <span className={css['hint']}>{item.hint}</span>}
      </>
    )
    const leaf = {
      className: cx(css['item'], item.danger && refused === null && css['danger']),
      'aria-disabled': refused !== null || undefined,
      // A refused item is not disabled for Radix, so that arrow keys reach the item and screen readers read its reason.
      onSelect: (event: Event) => {
        if (refused !== null || item.stay) event.preventDefault()
        if (refused === null) item.run?.()
      },
    }
    if (item.checked !== undefined) {
      return (
        <DropdownMenu.CheckboxItem key={item.label} {...leaf} checked={item.checked}>
          {inside}
        </DropdownMenu.CheckboxItem>
      )
    }
    const isLink = item.to !== undefined && refused === null
    return (
      <DropdownMenu.Item key={item.label} {...leaf} asChild={isLink}>
        {isLink ? <a href={item.to}>{inside}</a> : inside}
      </DropdownMenu.Item>
    )
  })
}
