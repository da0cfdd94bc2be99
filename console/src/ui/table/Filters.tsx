import type { ComponentProps } from 'react'
import { useMedia } from '../../lib/use-media.ts'
import { Button, IconButton } from '../inputs/Button.tsx'
import { Field, Select } from '../inputs/Field.tsx'
import { Icon } from '../pictures/Icon.tsx'
import { Menu } from '../overlay/Menu.tsx'
import css from './Filters.module.css'
import { cx } from '../cx.ts'
import { Popover } from '../overlay/Popover.tsx'

export interface OneFilter {
  label: string
  /** '' for any. */
  value: string
  options: readonly { value: string; text: string; hint?: string }[]
  onValue: (value: string) => void
  /** The filter is hidden behind a button until a value is picked. */
  tucked?: boolean
}

/**
 * The filters of a list: side by side or, on narrow screens, behind one button that counts the active ones. `onOpen` is called when the user opens the filters
 * behind a button.
 */
export function Filters({ filters, onOpen }: { filters: readonly OneFilter[]; onOpen?: (() => void) | undefined }) {
  const compact = useMedia('below', 'md')
  const trigger = (
    <Button icon="filter">
      Filters <b className="num">{filters.filter((f) => f.value !== '').length}</b>
    </Button>
  )
  if (compact) return filters.length > 0 && <Behind label="Filters" {...{ trigger, filters, onOpen }} />
  const tucked = filters.filter((f) => f.tucked && f.value === '')
  return (
    <>
      {filters.map((f) => !tucked.includes(f) && <Filter key={f.label} {...f} />)}
      {tucked.length > 0 && <Behind label="More filters" trigger={<IconButton icon="filter" label="More filters" />} filters={tucked} onOpen={onOpen} />}
    </>
  )
}

interface BehindProps {
  label: string
  trigger: ComponentProps<typeof Popover>['trigger']
  filters: readonly OneFilter[]
  onOpen: (() => void) | undefined
}

const Behind = ({ label, trigger, filters, onOpen }: BehindProps) => (
  <Popover label={label} width="18rem" trigger={trigger} onOpen={onOpen}>
    <div className="stack stack3">
      {filters.map((f) => (
        <Field key={f.label} label={f.label}>
          <Select<string> value={f.value} options={[{ value: '', text: 'Any' }, ...f.options]} onValue={f.onValue} />
        </Field>
      ))}
    </div>
  </Popover>
)

/** A filter of a list: "Status: Any" until a value is picked. An active filter is highlighted and has a clear button. `value` is '' for any. */
function Filter({ label, value, options, onValue }: OneFilter) {
  const picked = options.find((o) => o.value === value)
  const on = value !== ''
  return (
    <span className={cx(css['filter'], on && css['on'])}>
      <Menu
        label={label}
        align="start"
        trigger={
          <button type="button" className={css['button']}>
            {label}: <b>{picked?.text ?? (on ? value : 'Any')}</b>
            {!on && <Icon name="chevron-down" />}
          </button>
        }
        items={[
          { label: 'Any', checked: !on, run: () => onValue('') },
          'rule',
          ...options.map((o) => ({ label: o.text, ...(o.hint !== undefined && { hint: o.hint }), checked: o.value === value, run: () => onValue(o.value) })),
        ]}
      />
      {on && (
        <button type="button" className={css['off']} aria-label={`Remove filter ${label}`} onClick={() => onValue('')}>
          <Icon name="close" size={12} />
        </button>
      )}
    </span>
  )
}
