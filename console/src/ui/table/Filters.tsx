import { type ComponentProps, type ReactNode, Suspense } from 'react'
import type { RangeFilter } from '#contract/list.ts'
import { later } from '../part.tsx'
import { useMedia } from '../../lib/use-media.ts'
import { Button } from '../inputs/Button.tsx'
import { Field } from '../inputs/Field.tsx'
import { Select } from '../inputs/Choices.tsx'
import { Icon } from '../pictures/Icon.tsx'
import { Menu } from '../overlay/Menu.tsx'
import css from './Filters.module.css'
import { cx } from '../cx.ts'
import { Popover } from '../overlay/Popover.tsx'

const RangeInputs = later(() => import('./RangeInputs.tsx'))
const Range = (props: ComponentProps<typeof RangeInputs>) => (
  <Suspense fallback={null}>
    <RangeInputs {...props} />
  </Suspense>
)

export interface OneFilter {
  label: string
  /** '' for any. */
  value: string
  options: readonly { value: string; text: string; hint?: string }[]
  onValue: (value: string) => void
  /** The value is a range of numbers, which is typed instead of chosen. */
  range?: RangeFilter | undefined
  /** The form in which the value is written, instead of a choice. */
  form?: ((onValue: (value: string) => void) => ReactNode) | undefined
  /** The filter is hidden behind a button until a value is picked. */
  tucked?: boolean
}

/**
 * The filters of a list: side by side or, on narrow screens, behind one button that counts the
 * active ones. `onOpen` is called when the user opens the filters behind a button.
 */
export function Filters({
  filters,
  onOpen,
}: {
  filters: readonly OneFilter[]
  onOpen?: (() => void) | undefined
}) {
  const compact = useMedia('below', 'md')
  const trigger = (
    <Button icon="filter">
      Filters <b className="num">{filters.filter((f) => f.value !== '').length}</b>
    </Button>
  )
  if (compact)
    return filters.length > 0 && <Behind label="Filters" {...{ trigger, filters, onOpen }} />
  const tucked = filters.filter((f) => f.tucked && f.value === '')
  return (
    <>
      {filters.map((f) => !tucked.includes(f) && <Filter key={f.label} {...f} />)}
      {tucked.length > 0 && (
        <Behind
          label="More filters"
          trigger={
            <Button icon="filter" aria-label="More filters">
              Filters
            </Button>
          }
          filters={tucked}
          onOpen={onOpen}
        />
      )}
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
      {filters.map((f) =>
        formOf(f) ? (
          <div key={`${f.label} ${f.value}`}>{formOf(f)!(f.onValue)}</div>
        ) : (
          <Field key={f.label} label={f.label}>
            <Select<string>
              value={f.value}
              options={[{ value: '', text: 'Any' }, ...f.options]}
              onValue={f.onValue}
            />
          </Field>
        ),
      )}
    </div>
  </Popover>
)

const formOf = ({ label, value, range, form }: OneFilter): OneFilter['form'] =>
  range
    ? (onValue) => <Range label={label} unit={range.unit} value={value} onValue={onValue} />
    : form

/**
 * A filter of a list: "Status: Any" until a value is picked. An active filter is highlighted and
 * has a clear button.
 */
function Filter(filter: OneFilter) {
  const { label, value, options, range, onValue } = filter
  const form = formOf(filter)
  const on = value !== ''
  const shown = range ? range.shown(value) : (options.find((o) => o.value === value)?.text ?? value)
  const trigger = (
    <button type="button" className={css['button']}>
      {label}: <b>{shown || 'Any'}</b>
      {!on && <Icon name="chevron-down" />}
    </button>
  )
  return (
    <span className={cx(css['filter'], on && css['on'])}>
      {form ? (
        <Popover label={label} width="18rem" trigger={trigger}>
          {(close) =>
            form((next) => {
              onValue(next)
              close()
            })
          }
        </Popover>
      ) : (
        <Menu
          label={label}
          align="start"
          trigger={trigger}
          items={[
            { label: 'Any', checked: !on, run: () => onValue('') },
            'rule',
            ...options.map((o) => ({
              label: o.text,
              ...(o.hint !== undefined && { hint: o.hint }),
              checked: o.value === value,
              run: () => onValue(o.value),
            })),
          ]}
        />
      )}
      {on && (
        <button
          type="button"
          className={css['off']}
          aria-label={`Remove filter ${label}`}
          onClick={() => onValue('')}
        >
          <Icon name="close" size={12} />
        </button>
      )}
    </span>
  )
}
