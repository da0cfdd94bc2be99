import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { TextInput } from './Field.tsx'
import css from './Search.module.css'

interface SearchProps {
  label: string
  placeholder?: string
  value: string
  onValue: (value: string) => void
  hotkey?: boolean
  waitMs?: number
}

/**
 * The search box of a list. The key `/` focuses the box. The box reports its text after a pause in
 * typing and follows changes of `value`.
 */
export function Search({
  label,
  placeholder,
  value,
  onValue,
  hotkey = true,
  waitMs = 200,
}: SearchProps) {
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(value)
  const [from, setFrom] = useState(value)
  if (from !== value) {
    setFrom(value)
    setTyped(value)
  }
  useEffect(() => {
    if (typed === from) return undefined
    const timer = setTimeout(() => onValue(typed), waitMs)
    return () => clearTimeout(timer)
  }, [typed, from, onValue, waitMs])
  // Before the page is painted, so that no key of a user who sees it is lost.
  useLayoutEffect(() => {
    if (!hotkey) return undefined
    const onKey = (event: KeyboardEvent) => {
      if (
        event.key !== '/' ||
        event.metaKey ||
        event.ctrlKey ||
        (event.target as HTMLElement).closest(
          'input,textarea,select,[contenteditable],[role="dialog"]',
        )
      )
        return
      event.preventDefault()
      input.current?.focus()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [hotkey])
  return (
    <span className={css['search']}>
      <TextInput
        ref={input}
        type="search"
        icon="search"
        aria-label={label}
        placeholder={placeholder ?? label}
        value={typed}
        onValue={setTyped}
        autoComplete="off"
        spellCheck={false}
        {...(hotkey && { hotkey: '/' })}
      />
    </span>
  )
}
