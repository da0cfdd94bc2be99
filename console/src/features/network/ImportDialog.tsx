import { useQueryClient } from '@tanstack/react-query'
import { type ChangeEvent, type ReactNode, useId, useRef, useState } from 'react'
import type { Answer } from '#contract/operation.ts'
import { csvColumns, importLimits, subnetImport } from '#contract/network/subnets.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { newKey } from '../../api/http.ts'
import { reasonOf } from '../../lib/reason.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Field, TextArea } from '../../ui/inputs/Field.tsx'
import { Alert, Badge, Problem } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import css from './ImportDialog.module.css'
import { importCommands } from './import-command.ts'
import { summaryOf } from './import-summary.ts'
import { refreshNetwork } from './network-queries.ts'

type Outcome = Answer<typeof subnetImport>

const tones = { create: 'ok', update: 'accent', nothing: 'neutral' } as const
const doing = { create: 'Add', update: 'Change', nothing: 'No change' } as const
/** So many lines of a table are drawn: a file may have thousands, and the rest is told as a number. */
const most = 200
/** A box that scrolls has to be reached by keyboard (WCAG 2.1.1). */
const reachable = { tabIndex: 0 }

/** Subnets from CSV: checked first, with every problem by its line and what each row would do; written only when there are none. */
export default function ImportDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [csv, setCsv] = useState('')
  const [file, setFile] = useState<string | null>(null)
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState<'check' | 'import' | null>(null)
  const [key, setKey] = useState(newKey)
  const picker = useRef<HTMLInputElement>(null)
  const formId = useId()
  const tooLong = new TextEncoder().encode(csv).length > importLimits.bytes
  const summary = outcome && summaryOf(outcome)

  const change = (text: string, name: string | null) => {
    setCsv(text)
    setFile(name)
    setOutcome(null)
    setProblem(null)
    setKey(newKey())
  }
  const pick = async (event: ChangeEvent<HTMLInputElement>) => {
    const picked = event.target.files?.[0]
    event.target.value = ''
    if (!picked) return
    if (picked.size > importLimits.bytes) return setProblem(`${picked.name} is larger than 1 MiB`)
    change(await picked.text(), picked.name)
  }
  const send = async (dry: boolean) => {
    setBusy(dry ? 'check' : 'import')
    setProblem(null)
    try {
      const answer = await call(subnetImport, { body: { csv, dry_run: dry } }, dry ? {} : { key })
      setOutcome(answer)
      if (dry || !answer.written) return
      await refreshNetwork(client)
      toast.success(summaryOf(answer).done)
      onClose()
    } catch (error) {
      setProblem(reasonOf(error))
      setKey(newKey())
    } finally {
      setBusy(null)
    }
  }
  const ready = summary !== null && summary.problems === 0
  return (
    <Dialog
      open
      onClose={onClose}
      locked={busy === 'import'}
      width="46rem"
      title="Import subnets"
      footer={
        <>
          <span className="grow hide-sm">
            <AsCommand complete={csv.trim() !== '' && !tooLong} {...importCommands({ csv, file, origin: location.origin })} />
          </span>
          <Button onClick={onClose}>Cancel</Button>
          {ready ? (
            <Button
              kind="primary"
              busy={busy === 'import'}
              busyText="Importing"
              can={summary.changes === 0 ? { ok: false, reason: 'No row changes anything' } : undefined}
              onClick={() => void send(false)}
            >
              {summary.verb}
            </Button>
          ) : (
            <Button
              kind="primary"
              type="submit"
              form={formId}
              busy={busy === 'check'}
              busyText="Checking"
              can={csv.trim() === '' ? { ok: false, reason: 'Choose a file or paste its text first' } : undefined}
            >
              Check
            </Button>
          )}
        </>
      }
    >
      <form
        id={formId}
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (csv.trim() !== '' && busy === null) void send(true)
        }}
      >
        <p>
          A header row, then a subnet on each. Columns: <span className="mono">{csvColumns.join(', ')}</span>. A row with an <span className="mono">id</span>{' '}
          changes that subnet, others are added. Nothing is written unless every row is right.
        </p>
        <div className="row wrap">
          <input ref={picker} type="file" accept=".csv,text/csv,text/plain" className="sr" tabIndex={-1} aria-label="CSV file" onChange={(e) => void pick(e)} />
          <Button onClick={() => picker.current?.click()}>Choose a file</Button>
          <span className="t3">{file ?? 'or paste its text'}</span>
        </div>
        <Field label="CSV" error={tooLong ? 'A file is at most 1 MiB' : undefined}>
          <TextArea
            value={csv}
            onValue={(text) => change(text, null)}
            rows={6}
            mono
            spellCheck={false}
            placeholder={'name,cidr,gateway,datacenter\npoz-public-b,198.51.100.0/24,198.51.100.1,PL-POZ-1'}
          />
        </Field>
        <Problem text={problem} />
        {summary !== null && outcome !== null && (
          <>
            <Alert tone={ready ? 'ok' : 'danger'}>{summary.text}</Alert>
            {outcome.problems.length > 0 && (
              <Listed
                label="Problems"
                noun="problem"
                heads={['Line', 'Column', 'Problem']}
                rows={outcome.problems.map((p) => [p.line, <code key="c">{p.column ?? '–'}</code>, p.message])}
              />
            )}
            {outcome.rows.length > 0 && (
              <Listed
                label="What each row does"
                noun="row"
                heads={['Line', 'Does', 'CIDR', 'Name']}
                rows={outcome.rows.map((row) => [
                  row.line,
                  <Badge key="d" tone={tones[row.does]}>
                    {doing[row.does]}
                  </Badge>,
                  <code key="c">{row.cidr}</code>,
                  row.name,
                ])}
              />
            )}
          </>
        )}
      </form>
    </Dialog>
  )
}

/** The first lines of a table, and how many more there are. The last cell of each takes the room that is left. */
function Listed({ label, noun, heads, rows }: { label: string; noun: string; heads: readonly string[]; rows: readonly (readonly ReactNode[])[] }) {
  return (
    <div className={css['box']} role="group" aria-label={label} {...reachable}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((cells, i) => (
            <tr key={i}>
              {cells.map((cell, c) => (
                <td key={heads[c]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > most && <p className="t3">and {counted(rows.length - most, `more ${noun}`)}</p>}
    </div>
  )
}
