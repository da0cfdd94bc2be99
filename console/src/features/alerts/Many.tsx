import { Checkbox } from '../../ui/inputs/Choices.tsx'
import css from './Alerts.module.css'

/** Checkboxes for a choice of several. The chosen values keep the order of the options. */
export function Many<Value extends string>({
  label,
  options,
  chosen,
  onChoose,
}: {
  label: string
  options: readonly { value: Value; text: string }[]
  chosen: readonly Value[]
  onChoose: (chosen: Value[]) => void
}) {
  return (
    <div className={css['many']} role="group" aria-label={label}>
      {options.map(({ value, text }) => (
        <Checkbox
          key={value}
          label={text}
          checked={chosen.includes(value)}
          onChange={(on) =>
            onChoose(
              options.flatMap((o) =>
                (o.value === value ? on : chosen.includes(o.value)) ? [o.value] : [],
              ),
            )
          }
        />
      ))}
    </div>
  )
}
