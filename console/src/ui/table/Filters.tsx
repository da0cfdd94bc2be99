import { useMedia } from '../../lib/use-media.ts'
import { Button } from '../inputs/Button.tsx'
import { Field, Select } from '../inputs/Field.tsx'
import { Filter } from './Filter.tsx'
import { Popover } from '../overlay/Popover.tsx'

export interface OneFilter {
  label: string
  /** '' for any. */
  value: string
  options: readonly { value: string; text: string; hint?: string }[]
  onValue: (value: string) => void
  /** Hidden behind the "Filters" button until a value is picked. */
  tucked?: boolean
}

/** The filters of a list: side by side or, on narrow screens, behind one button that counts the active ones. */
export function Filters({ filters }: { filters: readonly OneFilter[] }) {
  const compact = useMedia('below', 'md')
  if (!compact) return filters.map(({ tucked = false, ...f }) => (tucked && f.value === '' ? null : <Filter<string> key={f.label} {...f} />))
  return (
    <Popover
      label="Filters"
      width="18rem"
      trigger={
        <Button icon="filter">
          Filters <b className="num">{filters.filter((f) => f.value !== '').length}</b>
        </Button>
      }
    >
      <div className="stack stack3">
        {filters.map((f) => (
          <Field key={f.label} label={f.label}>
            <Select<string> value={f.value} options={[{ value: '', text: 'Any' }, ...f.options]} onValue={f.onValue} />
          </Field>
        ))}
      </div>
    </Popover>
  )
}
