import { lossPart, sentChangeSentence } from '#contract/network/sent-change.ts'
import { undoSeconds } from '#contract/servers/losses.ts'
import { no, yes } from '#contract/rule.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog, TypeToConfirm } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'

export interface LossAsked {
  /** Name of the server. */
  name: string
  /** The refusal of the API. */
  refusal: string
  /** The longest time, in minutes, after which Talos may undo the change. */
  mostMinutes: number
}

type Typed = { typed: string; way: 'undo' | 'good'; minutes: string }
const blank: Typed = { typed: '', way: 'undo', minutes: String(undoSeconds.usual / 60) }
const { Choose, Text } = fieldsFor<Typed>()

/**
 * Asks for the name of a server that Steelyard would lose, and for what undoes the change. Closes
 * with the seconds after which Talos undoes it, or null for good.
 */
export default function ConfirmLoss({ name, refusal, mostMinutes }: LossAsked) {
  const { close } = useDialog()
  const form = useForm({
    initial: blank,
    read: ({ way, minutes }) => {
      if (way === 'good') return { ok: true, body: null }
      const number = /^\d{1,3}$/.test(minutes) ? Number(minutes) : 0
      return number >= 1 && number <= mostMinutes
        ? { ok: true, body: number * 60 }
        : { ok: false, fields: { minutes: `Enter 1 to ${mostMinutes} minutes` } }
    },
    send: (seconds) => Promise.resolve(seconds),
    done: (seconds) => close({ undo_after_seconds: seconds }),
  })
  const { way, typed } = form.values
  const sentence = form.read.ok
    ? sentChangeSentence({ name, reach: { tried: true }, undoAfterSeconds: form.read.body })
    : undefined
  return (
    <FormDialog
      form={form}
      title={`Send it although ${name} would be lost?`}
      submit="Send it anyway"
      danger
      can={typed === name ? yes : no(`Type ${name} first`)}
    >
      <div>{lossPart(refusal)}.</div>
      <Choose
        name="way"
        label={`If Steelyard does not reach ${name}`}
        options={[
          { value: 'undo', text: 'Talos undoes the change' },
          { value: 'good', text: 'The change stays, for good' },
        ]}
        hint={
          way === 'good'
            ? `${sentence}. Choose it only if ${name} is to be where Steelyard can't reach it`
            : undefined
        }
      />
      {way === 'undo' && (
        <Text
          name="minutes"
          label="After"
          note={`1 to ${mostMinutes} minutes`}
          inputMode="numeric"
          className="num"
          eager
          hint={sentence}
        />
      )}
      <TypeToConfirm words={name} />
    </FormDialog>
  )
}
