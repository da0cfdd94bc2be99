import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { imageLimits } from '#contract/images/customization.ts'
import { type Extension, extensionList } from '#contract/images.ts'
import { counted } from '#contract/words.ts'
import { query } from '../../api/query.ts'
import { Checkbox } from '../../ui/inputs/Choices.tsx'
import { Icon } from '../../ui/pictures/Icon.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { Search } from '../../ui/inputs/Search.tsx'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { Alert, Badge, Problem } from '../../ui/feedback/Status.tsx'
import { found, missing, perPage, shortName, tierWords } from './extensions.ts'
import { cx } from '../../ui/cx.ts'
import css from './ExtensionPicker.module.css'

/** All extensions of a version in one response, so that the search needs no further requests. */
const extensionsQuery = (version: string) => ({
  ...query(extensionList, { query: { version, per_page: 1000 } }),
  staleTime: 10 * 60_000,
})

interface ExtensionPickerProps {
  version: string
  chosen: readonly string[]
  onChosen: (names: string[]) => void
  error: string | undefined
}

/**
 * Picks extensions of a Talos version. The selected extensions, each with a button to remove it,
 * are above a paged search.
 */
export function ExtensionPicker({
  version,
  chosen,
  onChosen,
  error: refused,
}: ExtensionPickerProps) {
  const answer = useQuery({ ...extensionsQuery(version), enabled: version !== '' })
  const { data } = answer
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(1)
  const matching = data === undefined ? [] : found(data.items, typed)
  const pages = Math.max(1, Math.ceil(matching.length / perPage))
  const page = Math.min(at, pages)
  const gone = missing(chosen, data?.items)
  const full = chosen.length >= imageLimits.extensions
  const chips = useRef<HTMLUListElement>(null)
  const root = useRef<HTMLDivElement>(null)
  /** Removes an extension and moves the focus to the next one, or to the search. */
  const takeOff = (name: string) => {
    const buttons = [...(chips.current?.querySelectorAll('button') ?? [])]
    const at = chosen.indexOf(name)
    const next = buttons[at + 1] ?? buttons[at - 1] ?? root.current?.querySelector('input')
    next?.focus()
    onChosen(chosen.filter((n) => n !== name))
  }
  const toggle = (name: string) =>
    onChosen(chosen.includes(name) ? chosen.filter((n) => n !== name) : [...chosen, name])
  return (
    <div className={css['extensions']} ref={root}>
      {chosen.length > 0 && (
        <ul className={css['chips']} aria-label="Chosen extensions" ref={chips}>
          {chosen.map((name) => (
            <li key={name} className={gone.includes(name) ? css['gone'] : undefined}>
              {shortName(name)}
              <button
                type="button"
                aria-label={`Remove ${shortName(name)}`}
                onClick={() => takeOff(name)}
              >
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {gone.length > 0 && (
        <Alert tone="warn">
          {gone.map(shortName).join(', ')} {gone.length === 1 ? 'is' : 'are'} not available for{' '}
          {version}: no image can be built with {gone.length === 1 ? 'it' : 'them'}.
        </Alert>
      )}
      <Problem text={refused} />
      <Search
        label="Search extensions"
        placeholder="Name or what it does"
        hotkey={false}
        waitMs={80}
        value={typed}
        onValue={(value) => {
          setTyped(value)
          setAt(1)
        }}
      />
      {data === undefined ? (
        <Pending of={answer} rows={perPage} />
      ) : matching.length === 0 ? (
        <p className="fs13 t2">
          {data.total === 0
            ? `The image factory has no extension for ${version}.`
            : 'No extension matches.'}
        </p>
      ) : (
        <ul className={css['choice']} aria-label={`Extensions for ${version}`}>
          {matching.slice((page - 1) * perPage, page * perPage).map((e) => (
            <Row
              key={e.name}
              extension={e}
              on={chosen.includes(e.name)}
              full={full}
              onToggle={() => toggle(e.name)}
            />
          ))}
        </ul>
      )}
      {pages > 1 && (
        <Pager
          page={page}
          perPage={perPage}
          total={matching.length}
          plural="extensions"
          onPage={setAt}
        />
      )}
      <p className="sr" aria-live="polite">
        {typed === '' ? '' : counted(matching.length, 'extension')}
      </p>
    </div>
  )
}

function Row({
  extension: e,
  on,
  full,
  onToggle,
}: {
  extension: Extension
  on: boolean
  full: boolean
  onToggle: () => void
}) {
  return (
    <li>
      <Checkbox
        checked={on}
        disabled={full && !on}
        onChange={onToggle}
        label={
          <>
            <span className={css['name']}>
              <b className="strong">{shortName(e.name)}</b>
              {e.tier !== null && (
                <Badge tone="line" title={tierWords[e.tier].what}>
                  {tierWords[e.tier].word}
                </Badge>
              )}
            </span>
            <span className={cx(css['what'], 'fs12 t2')} title={e.description}>
              {e.description}
            </span>
          </>
        }
      />
    </li>
  )
}
