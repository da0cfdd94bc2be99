import { type FormEvent, type ReactNode, Suspense, useId, useState } from 'react'
import * as z from 'zod/mini'
import { NewPatch, patchLimits } from '#contract/patches.ts'
import { counted } from '#contract/words.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Field, TextInput } from '../../ui/inputs/Field.tsx'
import { SkeletonRows } from '../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../ui/feedback/Status.tsx'
import css from './CreateCluster.module.css'
import { replacedText } from './set-for-all.ts'

/** Where the body of a patch is written and previewed: a feature of its own. */
export type WriteBody = (asked: {
  servers: readonly { id: string; name: string }[]
  name: string
  weight: string
  body: string
  onBody: (body: string) => void
}) => ReactNode

interface Patched {
  id: string
  name: string
  /** The patches that the server has already. */
  patches: readonly { name: string }[]
  /** The one that the draft gives it so far. */
  draft: NewPatch | undefined
}

type Problems = Partial<Record<'name' | 'weight' | 'body', string>>

/** What is wrong with a patch that each of the servers is to be given; its body is merged, and judged, in the review. */
function problemsOf(patch: NewPatch, servers: readonly Patched[]): Problems {
  const problems: Problems = {}
  const read = z.safeParse(NewPatch, patch)
  for (const issue of read.success ? [] : read.error.issues) {
    const field = issue.path[0]
    if (field === 'name' || field === 'weight' || field === 'body') problems[field] ??= issue.message
  }
  if (patch.body.trim() === '') problems.body = 'Enter a patch'
  const holder = servers.find((s) => s.patches.some((p) => p.name === patch.name))
  if (holder) problems.name ??= `${holder.name} has a patch of this name already`
  return problems
}

/** Writes one patch for all chosen servers. It is kept in the draft, and made on each of them with the cluster. */
export default function NewPatchDialog({
  servers,
  writeBody,
  onSet,
  onClose,
}: {
  servers: readonly Patched[]
  writeBody: WriteBody
  onSet: (patch: NewPatch) => void
  onClose: () => void
}) {
  const before = servers.find((s) => s.draft)?.draft
  const [name, setName] = useState(before?.name ?? '')
  const [weight, setWeight] = useState(String(before?.weight ?? patchLimits.weight.default))
  const [body, setBody] = useState(before?.body ?? '')
  const [pressed, setPressed] = useState(false)
  const formId = useId()
  const replaced = replacedText(servers, before)
  const patch: NewPatch = { name: name.trim(), weight: /^\d+$/.test(weight.trim()) ? Number(weight) : Number.NaN, labels: before?.labels ?? {}, body }
  const problems = problemsOf(patch, servers)
  const shown = pressed ? problems : {}
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setPressed(true)
    if (Object.keys(problems).length > 0) return
    onSet(patch)
    onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      width="72rem"
      title={`The same new patch for ${counted(servers.length, 'server')}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" form={formId}>
            Set patch
          </Button>
        </>
      }
    >
      <form id={formId} className="stack" onSubmit={submit}>
        <p className="t2">Each of these servers gets it when the cluster is created, beside the patches it has. The review shows what it makes of each.</p>
        {replaced !== null && <Alert tone="warn">{replaced}</Alert>}
        <div className={css['fields']}>
          <Field label="Name" error={shown.name ?? null}>
            <TextInput value={name} onValue={setName} autoComplete="off" autoCapitalize="none" spellCheck={false} />
          </Field>
          <Field label="Weight" note={`${patchLimits.weight.min} to ${patchLimits.weight.max}`} error={shown.weight ?? null}>
            <TextInput value={weight} onValue={setWeight} inputMode="numeric" className="num" autoComplete="off" />
          </Field>
        </div>
        <Problem text={shown.body} />
        <Suspense fallback={<SkeletonRows rows={8} />}>{writeBody({ servers, name: patch.name, weight, body, onBody: setBody })}</Suspense>
      </form>
    </Dialog>
  )
}
