import { DropdownMenu } from 'radix-ui'
import type { ReactNode, RefObject } from 'react'
import { useMedia } from '../../lib/use-media.ts'
import { cx } from '../cx.ts'
import { Icon } from '../pictures/Icon.tsx'
import type { MenuItem } from './Menu.tsx'
import css from './Menu.module.css'

/** A menu is 208 px wide at least: of the one under it a strip stays. */
const overlapPx = 196

/** The press that closes a menu does nothing else, as in a menu of the system. */
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

/** The menu itself. The anchor lies under the real trigger, so that this may arrive after it. */
export default function MenuView({
  open,
  label,
  items,
  align,
  onOpen,
  focusBack,
  within,
}: {
  open: boolean
  label: string
  items: readonly MenuItem[]
  align: 'start' | 'center' | 'end'
  onOpen: (open: boolean) => void
  focusBack: () => void
  within: RefObject<HTMLElement | null>
}) {
  return (
    <DropdownMenu.Root open={open} onOpenChange={onOpen} modal={false}>
      <DropdownMenu.Trigger asChild>
        <span className={css['anchor']} aria-hidden="true" tabIndex={-1} />
      </DropdownMenu.Trigger>
      {/* In the page's landmark, or in the dialog that it belongs to. */}
      <DropdownMenu.Portal container={within.current?.closest<HTMLElement>('[role="dialog"]') ?? document.querySelector('main')}>
        <DropdownMenu.Content
          className={css['menu']}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          aria-label={label}
          aria-labelledby={undefined}
          loop
          // Not to the row that it belongs to. A link goes on to the router, which would else load the whole program anew.
          onClick={(event) => !(event.target instanceof Element && event.target.closest('a[href]')) && event.stopPropagation()}
          onCloseAutoFocus={(event) => {
            event.preventDefault()
            if (document.activeElement === document.body || document.activeElement === null) focusBack()
          }}
          onInteractOutside={(event) => {
            // The trigger closes it by itself; closing here first would make its click open it again.
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

/** Beside the menu; where there is no room for two, over it. */
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
    const look = cx(css['item'], item.danger && refused === null && css['danger'])
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
    const pick = (event: Event) => {
      // Not disabled for Radix, so that the arrows reach it and its reason is read out.
      if (refused !== null || item.stay) event.preventDefault()
      if (refused === null) item.run?.()
    }
    if (item.checked !== undefined) {
      return (
        <DropdownMenu.CheckboxItem key={item.label} className={look} checked={item.checked} aria-disabled={refused !== null || undefined} onSelect={pick}>
          {inside}
        </DropdownMenu.CheckboxItem>
      )
    }
    if (item.to !== undefined && refused === null) {
      return (
        <DropdownMenu.Item key={item.label} className={look} asChild>
          <a href={item.to}>{inside}</a>
        </DropdownMenu.Item>
      )
    }
    return (
      <DropdownMenu.Item key={item.label} className={look} aria-disabled={refused !== null || undefined} onSelect={pick}>
        {inside}
      </DropdownMenu.Item>
    )
  })
}
