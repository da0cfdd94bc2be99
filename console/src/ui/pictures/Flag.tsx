import { useEffect } from 'react'
import { whenIdle } from '../../lib/idle.ts'
import { createStore, useStore } from '../../lib/store.ts'
import css from './Flag.module.css'

/**
 * Made at their first use: the browser takes as long for this as for rendering ten rows of a list.
 */
let names: Intl.DisplayNames | null = null
const haveNames = createStore(false)
let isAsked = false
/** Makes the flags show names when the page is idle. */
function askForNames(): void {
  if (isAsked) return
  isAsked = true
  whenIdle(() => haveNames.set(true))
}

/** "Poland" for "PL"; the code itself if unknown. */
export function countryName(code: string): string {
  try {
    names ??= new Intl.DisplayNames('en', { type: 'region' })
    return names.of(code) ?? code
  } catch {
    return code
  }
}

/**
 * A country's flag by its ISO 3166-1 code. The accessible name is the country's name, and the code
 * until the page has been idle.
 */
export function Flag({ code }: { code: string }) {
  const isNamed = useStore(haveNames)
  useEffect(askForNames, [])
  const name = isNamed ? countryName(code) : code
  return (
    <img
      className={css['flag']}
      src={`/flags/${code}.svg`}
      alt={name}
      title={name}
      width={18}
      height={12}
      loading="lazy"
      decoding="async"
    />
  )
}

/**
 * A datacenter's code after the flag of its country. The code begins with the country's code: "PL"
 * in PL-POZ-1.
 */
export const Site = ({ code, country = code.slice(0, 2) }: { code: string; country?: string }) => (
  <span className="row">
    <Flag code={country} />
    {code}
  </span>
)
