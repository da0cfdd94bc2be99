import { useState } from 'react'
import { useStore } from '../../lib/store.ts'
import { asked } from '../actions.ts'
import { Button } from '../inputs/Button.tsx'
import { Dialog } from './Dialog.tsx'
import { Field, TextInput } from '../inputs/Field.tsx'
import { Problem } from '../feedback/Status.tsx'
import { useAct } from '../feedback/use-act.ts'

/** Shows the question of `confirm()`. Once, in the layout. */
export function ConfirmHost() {
  const question = useStore(asked)
  // Keeps the last question during the closing animation.
  const [shown, setShown] = useState(question)
  if (question !== null && question !== shown) setShown(question)
  if (shown === null) return null
  return <Question key={shown.title} {...shown} open={question !== null} />
}

function Question({
  title,
  text,
  label,
  out = 'Cancel',
  danger = false,
  typed,
  act,
  answer,
  open,
}: NonNullable<ReturnType<typeof asked.get>> & { open: boolean }) {
  const [name, setName] = useState('')
  const { busy, problem, act: begin } = useAct()
  const held = typed !== undefined && name !== typed
  const verb = label ?? title.split(' ')[0] ?? 'OK'
  const go = async () => {
    if (!held && (await begin(() => act?.()))) answer(true)
  }
  return (
    <Dialog
      open={open}
      onClose={() => answer(false)}
      title={title}
      locked={busy}
      footer={
        <>
          <Button data-way-out="" onClick={() => answer(false)}>
            {out}
          </Button>
          <Button
            kind={danger ? 'danger-fill' : 'primary'}
            busy={busy}
            busyText="Loading"
            can={held ? { ok: false, reason: `Type ${typed} first` } : undefined}
            onClick={() => void go()}
          >
            {verb}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void go()
        }}
      >
        <div>{text}</div>
        {typed !== undefined && (
          <Field
            label={
              <>
                Type <span className="mono">{typed}</span> to confirm
              </>
            }
          >
            <TextInput value={name} onValue={setName} autoComplete="off" spellCheck={false} />
          </Field>
        )}
        <Problem text={problem} />
      </form>
    </Dialog>
  )
}
