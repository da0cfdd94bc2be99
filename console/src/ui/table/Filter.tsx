import { cx } from '../cx.ts'
import css from './Filter.module.css'
import { Icon } from '../pictures/Icon.tsx'
import { Menu } from '../overlay/Menu.tsx'

interface FilterProps<Value extends string> {
  label: string
  value: Value | ''
  options: readonly { value: Value; text: string; hint?: string }[]
  onValue: (value: Value | '') => void
}

/** A filter of a list: "Status: Any" until a value is picked. An active filter is highlighted and has a clear button. `value` is '' for any. */
export function Filter<Value extends string>({ label, value, options, onValue }: FilterProps<Value>) {
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
