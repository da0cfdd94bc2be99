import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import css from './Combobox.module.css'
import { cx } from './cx.ts'
import { useField } from './Field.tsx'
import { Icon } from './Icon.tsx'
import { place } from './place.ts'

export interface ComboboxOption {
  value: string
  text: string
  hint?: string
}

/** One of many, found by typing (ARIA combobox with a list). With `free` what is typed is itself a value. At most 200 matches are shown. */
export function Combobox({
  value,
  options,
  onValue,
  placeholder,
  free = false,
  'aria-label': label,
}: {
  value: string
  options: readonly ComboboxOption[]
  onValue: (value: string) => void
  placeholder?: string
  free?: boolean
  'aria-label'?: string
}) {
  const id = useId()
  const field = useField()
  const chosen = options.find((o) => o.value === value)
  const [typed, setTyped] = useState<string | null>(null)
  const [open, setOpen] = useState(false)
  const [at, setAt] = useState(0)
  const root = useRef<HTMLSpanElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const text = typed ?? chosen?.text ?? (free ? value : '')
  const search = (typed ?? '').trim().toLowerCase()
  const found = options.filter((o) => search === '' || `${o.text} ${o.hint ?? ''}`.toLowerCase().includes(search)).slice(0, 200)
  const current = Math.min(at, Math.max(0, found.length - 1))

  useEffect(() => {
    const box = list.current
    if (!open || box === null || root.current === null) return undefined
    if (!box.matches(':popover-open')) box.showPopover()
    const put = () => {
      if (root.current === null) return
      const anchor = root.current.getBoundingClientRect()
      box.style.width = `${anchor.width}px`
      place(box, anchor, 'start')
    }
    put()
    window.addEventListener('resize', put)
    document.addEventListener('scroll', put, true)
    return () => {
      window.removeEventListener('resize', put)
      document.removeEventListener('scroll', put, true)
    }
  }, [open])
  useEffect(() => {
    list.current?.querySelector(`[data-at="${current}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [current])

  const close = () => {
    setOpen(false)
    setTyped(null)
    if (list.current?.matches(':popover-open')) list.current.hidePopover()
  }
  const pick = (option: ComboboxOption | undefined) => {
    if (option !== undefined) onValue(option.value)
    else if (free && typed !== null) onValue(typed.trim())
    close()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      if (!open) setOpen(true)
      else setAt((current + step + found.length) % Math.max(1, found.length))
    } else if (event.key === 'Enter' && open) pick(found[current])
    else if (event.key === 'Escape' && open) close()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <span ref={root} className={cx(css['box'], field['aria-invalid'] && css['bad'])}>
      <input
        {...field}
        role="combobox"
        aria-label={label}
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={open && found.length > 0 ? `${id}-${current}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        value={text}
        onClick={() => setOpen(true)}
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
          setOpen(true)
        }}
        onBlur={() => (free && typed !== null ? pick(undefined) : close())}
        onKeyDown={onKeyDown}
      />
      <Icon name="chevron-down" />
      <div ref={list} id={`${id}-list`} popover="manual" role="listbox" aria-label={label ?? 'Choices'} className={css['list']}>
        {open &&
          found.map((option, i) => (
            <div
              key={option.value}
              id={`${id}-${i}`}
              data-at={i}
              role="option"
              tabIndex={-1}
              aria-selected={option.value === value}
              className={cx(css['item'], i === current && css['on'])}
              onPointerMove={() => setAt(i)}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => pick(option)}
              onKeyDown={onKeyDown}
            >
              <span className="clip">{option.text}</span>
              {option.hint !== undefined && <span className={css['hint']}>{option.hint}</span>}
              {option.value === value && <Icon name="check" />}
            </div>
          ))}
        {open && found.length === 0 && <div className={css['none']}>{free && search !== '' ? `Enter takes “${typed?.trim()}”` : 'Nothing matches'}</div>}
      </div>
    </span>
  )
}
