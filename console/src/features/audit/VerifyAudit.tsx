import { useEffect, useRef, useState } from 'react'
import {
  type AuditCheck,
  auditHeadHint,
  auditVerdict,
  auditVerify,
  readAuditHead,
} from '#contract/audit.ts'
import { count } from '#contract/words.ts'
import { authorized } from '../../api/client.ts'
import { read } from '../../api/http.ts'
import { linesOf } from './lines.ts'
import { curlOf } from '../../lib/shell.ts'
import { Alert } from '../../ui/feedback/Status.tsx'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { Meter } from '../../ui/pictures/Meter.tsx'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Command } from '../../ui/text/Copyable.tsx'

const blank = { head: '' }
const { Text } = fieldsFor<typeof blank>()

type Verdict = Exclude<AuditCheck, { state: 'checking' }>
const interrupted: Verdict = {
  state: 'failed',
  reason: 'the connection was interrupted before the end',
}

/** Verifies the chain, and calls `progress` until the verdict is known. */
async function verify(
  head: string,
  signal: AbortSignal,
  progress: (check: AuditCheck) => void,
): Promise<Verdict> {
  const response = await authorized(auditVerify, { query: head === '' ? {} : { head } }, { signal })
  if (!response.ok || response.body === null) {
    await read(auditVerify, {}, response)
    return interrupted
  }
  try {
    for await (const line of linesOf(response.body)) {
      const check = JSON.parse(line) as AuditCheck
      if (check.state !== 'checking') return check
      progress(check)
    }
  } catch (error) {
    if (signal.aborted) throw error
  }
  return interrupted
}

/** Verifies the hash chain of the audit log, and says in words whether the log is intact. */
export default function VerifyAudit() {
  const { open } = useDialog()
  const [check, setCheck] = useState<AuditCheck | null>(null)
  const stop = useRef(new AbortController())
  // Closing the dialog ends the verification.
  useEffect(() => {
    if (!open) stop.current.abort()
  }, [open])
  const form = useForm({
    initial: blank,
    read: ({ head }) => {
      const noted = head.trim()
      return noted === '' || readAuditHead(noted)
        ? { ok: true, body: noted }
        : { ok: false, fields: { head: `Expected ${auditHeadHint}` } }
    },
    send: (head) => {
      setCheck(null)
      return verify(head, stop.current.signal, setCheck)
    },
    done: setCheck,
  })
  const head = form.read.ok ? form.read.body : ''
  const path = head === '' ? auditVerify.path : (`${auditVerify.path}?head=${head}` as const)
  return (
    <FormDialog
      form={form}
      width="38rem"
      title="Verify the audit log"
      submit={check === null || form.busy ? 'Verify' : 'Verify again'}
      busyText="Verifying"
      wayOut="Close"
      command={
        <AsCommand complete={form.read.ok} api={curlOf({ ...auditVerify, path }, {}, undefined)} />
      }
    >
      <p className="fs13 t2">
        Each entry contains a hash of itself and of the entry before it, made with a key that is not
        in the database. The verification finds entries that were changed, removed, added or moved.
      </p>
      <Text
        name="head"
        label="Noted entry"
        optional
        hint={`An entry that you noted earlier, to find out whether the end of the log was cut off: ${auditHeadHint}.`}
        mono
      />
      <div aria-live="polite">
        <Result check={check} />
      </div>
    </FormDialog>
  )
}

function Result({ check }: { check: AuditCheck | null }) {
  if (check === null) return null
  if (check.state === 'checking')
    return (
      <Meter
        value={check.checked}
        of={check.of}
        label="Verified entries"
        text={`${count(check.checked)} of ${count(check.of)} entries`}
      />
    )
  if (check.state !== 'intact')
    return <Alert tone={check.state === 'broken' ? 'danger' : 'warn'}>{auditVerdict(check)}.</Alert>
  return (
    <div className="stack stack2">
      <Alert tone="ok">{auditVerdict(check)}.</Alert>
      {check.head !== null && (
        <section className="stack stack2">
          <h3 className="label">The last entry, to note outside of Steelyard</h3>
          <Command command={check.head} prompt="" what="last entry" />
        </section>
      )}
    </div>
  )
}
