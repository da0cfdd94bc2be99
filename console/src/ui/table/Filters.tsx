import { type ComponentProps, type ReactNode, Suspense } from 'react'
import type { RangeFilter } from '#contract/list.ts'
import { later } from '../part.tsx'
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
}

const isOn = ({ value }: OneFilter): boolean => value !== ''

/** The button of a list's filters, with the number of active ones. `onOpen`: the user opens it. */
export function Filters({
  filters,
  onOpen,
}: {
  filters: readonly OneFilter[]
  onOpen?: (() => void) | undefined
}) {
  if (filters.length === 0) return null
  const active = filters.filter(isOn).length
  return (
    <Behind
      label="Filters"
      trigger={
        <Button icon="filter" aria-label={active === 0 ? 'Filters' : `Filters, ${active} active`}>
          <span className="hide-sm">Filters</span>
          {active > 0 && <b className="num">{active}</b>}
        </Button>
      }
      {...{ filters, onOpen }}
    />
  )
}

/** The active filters, each with a button that removes it, in a row that is there only then. */
export function ActiveFilters({ filters }: { filters: readonly OneFilter[] }) {
  const active = filters.filter(isOn)
  return (
    active.length > 0 && (
      <span className={css['active']} role="group" aria-label="Active filters">
        {active.map((f) => (
          <Filter key={f.label} {...f} />
        ))}
      </span>
    )
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

/** An active filter: "Status: Ready". A click changes it, and the cross removes it. */
function Filter(filter: OneFilter) {
  const { label, value, options, range, onValue } = filter
  const form = formOf(filter)
  const shown = range ? range.shown(value) : (options.find((o) => o.value === value)?.text ?? value)
  const trigger = (
    <button type="button" className={css['button']}>
      {label}: <b>{shown}</b>
    </button>
  )
  return (
    <span className={cx(css['filter'], css['on'])}>
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
            { label: 'Any', checked: false, run: () => onValue('') },
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
      <button
        type="button"
        className={css['off']}
        aria-label={`Remove filter ${label}`}
        onClick={() => onValue('')}
      >
        <Icon name="close" size={12} />
      </button>
    </span>
  )
}
