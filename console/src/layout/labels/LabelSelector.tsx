import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { selectorOf, selectorSentence } from '#contract/labels/selector.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Field, TextInput } from '../../ui/inputs/Field.tsx'
import { keysOf, known, textsOf } from './labels.ts'

/** The conditions before the one that is being typed, with their comma. */
const before = (text: string): string => /^(?:.*,)?/.exec(text)?.[0] ?? ''

/**
 * The filter of a list by labels: a selector, for whose last condition the browser offers the labels
 * that are used most. The button or Enter applies it.
 */
export default function LabelSelector({
  of,
  value,
  onValue,
}: {
  /** The noun of the list: server or cluster. */
  of: string
  /** '' for any. */
  value: string
  onValue: (value: string) => void
}) {
  const list = useId()
  const [text, setText] = useState(value)
  const [isAsked, setAsked] = useState(false)
  const { data } = useQuery(of === 'cluster' ? known.cluster : known.server)
  const isWrong = text !== '' && selectorOf(text) === null
  const all = textsOf(data?.items)
  const keys = keysOf(data?.items)
  const apply = (event: FormEvent) => {
    event.preventDefault()
    setAsked(true)
    if (!isWrong) onValue(text)
  }
  return (
    <form className="stack stack2" noValidate onSubmit={apply} aria-label="Filter by labels">
      <Field
        label="Labels"
        hint={
          data?.items.length === 0
            ? `No ${of} has labels yet`
            : 'rack=3,gen!=r640; !spare: without this label'
        }
        error={isAsked && isWrong ? selectorSentence : null}
      >
        <TextInput
          mono
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          list={list}
          value={text}
          onValue={setText}
        />
      </Field>
      <datalist id={list}>
        {[...all.slice(0, 200), ...keys.slice(0, 100).map((key) => `!${key}`)].map((one) => (
          <option key={one} value={before(text) + one} />
        ))}
      </datalist>
      <Button type="submit" size="small" className="right">
        Apply
      </Button>
    </form>
  )
}
