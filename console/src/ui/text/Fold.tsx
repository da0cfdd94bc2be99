import { type ReactNode, useId, useState } from 'react'
import { Icon } from '../pictures/Icon.tsx'
import css from './Fold.module.css'

/**
 * A part of a page behind its title, which is rendered once it is opened. `isOpen`: it is open from
 * the beginning.
 */
export function Fold({
  title,
  isOpen: first = false,
  children,
}: {
  title: string
  isOpen?: boolean
  children: ReactNode
}) {
  const id = useId()
  const [isOpen, setOpen] = useState(first)
  const [was, setWas] = useState(first)
  if (was !== first) {
    setWas(first)
    if (first) setOpen(true)
  }
  return (
    <section aria-labelledby={`${id}-title`}>
      <button
        type="button"
        id={`${id}-title`}
        className={css['fold']}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={isOpen ? 'chevron-down' : 'chevron-right'} />
        {title}
      </button>
      <div id={id} className={css['body']} hidden={!isOpen}>
        {isOpen && children}
      </div>
    </section>
  )
}
