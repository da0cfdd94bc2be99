import css from './Stepper.module.css'
import { Icon } from '../pictures/Icon.tsx'

/** The current step of a form. Earlier steps are links. */
export function Stepper({
  steps,
  current,
  onGo,
}: {
  steps: readonly { id: string; text: string }[]
  current: string
  onGo?: (id: string) => void
}) {
  const at = steps.findIndex((step) => step.id === current)
  return (
    <ol className={css['stepper']} aria-label="Steps">
      {steps.map((step, i) => {
        const state = i < at ? 'done' : i === at ? 'now' : 'next'
        const inside = (
          <>
            <span className={css['i']}>
              {state === 'done' ? <Icon name="check" size={12} /> : i + 1}
            </span>
            {step.text}
            {state === 'done' && <span className="sr">, done</span>}
          </>
        )
        return (
          <li
            key={step.id}
            className={css[state]}
            aria-current={state === 'now' ? 'step' : undefined}
          >
            {state === 'done' && onGo ? (
              <button type="button" onClick={() => onGo(step.id)}>
                {inside}
              </button>
            ) : (
              inside
            )}
          </li>
        )
      })}
    </ol>
  )
}
