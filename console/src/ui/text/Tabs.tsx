import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef } from 'react'
import css from './Tabs.module.css'

export interface Tab {
  id: string
  text: ReactNode
  count?: number | undefined
  /** Makes the tab a link, so that the URL says which tab is open. */
  href?: string
}

/**
 * Tabs. If each tab has an `href`, the tabs are links; otherwise buttons that call `onChange` and
 * support arrow keys.
 */
export function Tabs({
  label,
  tabs,
  current,
  onChange,
}: {
  label: string
  tabs: readonly Tab[]
  current: string
  onChange?: (id: string) => void
}) {
  // Centres the open tab if not all fit, also after the screen was turned. Scrolls only the strip,
  // never the page.
  const strip = useRef<HTMLDivElement>(null)
  const at = tabs.findIndex((tab) => tab.id === current)
  useLayoutEffect(() => {
    const all = strip.current
    const open = all?.children[at]
    if (!all || !open) return undefined
    const resized = new ResizeObserver(() => {
      const [around, inside] = [all.getBoundingClientRect(), open.getBoundingClientRect()]
      all.scrollLeft += inside.left + inside.width / 2 - (around.left + around.width / 2)
    })
    resized.observe(all)
    return () => resized.disconnect()
  }, [at])
  const inside = (tab: Tab) => (
    <>
      {tab.text}
      {tab.count !== undefined && <span className={css['n']}>{tab.count}</span>}
    </>
  )
  if (tabs.every((tab) => tab.href !== undefined)) {
    return (
      <nav ref={strip} className={css['tabs']} aria-label={label}>
        {tabs.map((tab) => (
          <a
            key={tab.id}
            href={tab.href}
            aria-current={tab.id === current ? 'page' : undefined}
            data-replace=""
          >
            {inside(tab)}
          </a>
        ))}
      </nav>
    )
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (next === undefined) return
    event.preventDefault()
    onChange?.(next.id)
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <div
      ref={strip}
      className={css['tabs']}
      role="tablist"
      aria-label={label}
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          data-tab={tab.id}
          aria-selected={tab.id === current}
          tabIndex={tab.id === current ? 0 : -1}
          onClick={() => onChange?.(tab.id)}
        >
          {inside(tab)}
        </button>
      ))}
    </div>
  )
}
