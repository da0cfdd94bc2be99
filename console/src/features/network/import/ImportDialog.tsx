import { type ChangeEvent, useRef, useState } from 'react'
import type { Answer } from '#contract/operation.ts'
import { csvColumns, importLimits, subnetImport } from '#contract/network/subnets.ts'
import { no, yes } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { apiOrigin } from '../../../lib/api-origin.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { type PlainColumn, PlainTable } from '../../../ui/table/PlainTable.tsx'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { Alert, Badge } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import css from './ImportDialog.module.css'
import { importCommands, summaryOf } from './subnet-import.ts'
import { refreshNetwork } from '../network-queries.ts'

type Outcome = Answer<typeof subnetImport>

const tones = { create: 'ok', update: 'accent', nothing: 'neutral' } as const
const doing = { create: 'Add', update: 'Change', nothing: 'No change' } as const
/** Maximum number of table rows shown. A file may have thousands; the others are only counted. */
const most = 200
/** Scrollable boxes must be focusable (WCAG 2.1.1). */
const reachable = { tabIndex: 0 }

const problemColumns: readonly PlainColumn<Outcome['problems'][number]>[] = [
  { head: 'Line', cell: (p) => p.line },
  { head: 'Column', cell: (p) => <code>{p.column ?? '–'}</code> },
  { head: 'Problem', cell: (p) => p.message },
]
const rowColumns: readonly PlainColumn<Outcome['rows'][number]>[] = [
  { head: 'Line', cell: (row) => row.line },
  { head: 'Does', cell: (row) => <Badge tone={tones[row.does]}>{doing[row.does]}</Badge> },
  { head: 'CIDR', cell: (row) => <code>{row.cidr}</code> },
  { head: 'Name', cell: (row) => row.name },
]

const { Area } = fieldsFor<{ csv: string }>()

/**
 * Imports subnets from CSV. First checks the file and shows problems by line and the effect of each
 * row. Writes only if there are no problems.
 */
export default function ImportDialog() {
  const { close } = useDialog()
  const [file, setFile] = useState<string | null>(null)
  const [checked, setChecked] = useState<{ csv: string; outcome: Outcome } | null>(null)
  const picker = useRef<HTMLInputElement>(null)
  const form = useForm({
    initial: { csv: '' },
    read: ({ csv }) =>
      new TextEncoder().encode(csv).length > importLimits.bytes
        ? { ok: false, fields: { csv: 'A file is at most 1 MiB' } }
        : { ok: true, body: { csv, dry_run: !isChecked(csv) } },
    send: (body, key) => call(subnetImport, { body }, body.dry_run ? {} : { key }),
    done: async (answer, { csv, dry_run }) => {
      setChecked({ csv, outcome: answer })
      if (dry_run || !answer.written) return
      await refreshNetwork()
      toast.success(summaryOf(answer).done)
      close()
    },
  })
  const { csv } = form.values
  const outcome = checked?.csv === csv ? checked.outcome : null
  const summary = outcome && summaryOf(outcome)
  const ready = summary !== null && summary.problems === 0
  /** Whether exactly this text was checked without problems. */
  function isChecked(text: string): boolean {
    return checked?.csv === text && summaryOf(checked.outcome).problems === 0
  }
  const pick = async (event: ChangeEvent<HTMLInputElement>) => {
    const picked = event.target.files?.[0]
    event.target.value = ''
    if (!picked) return
    if (picked.size > importLimits.bytes)
      return form.refuse('csv', `${picked.name} is larger than 1 MiB`)
    form.set({ csv: await picked.text() })
    setFile(picked.name)
  }
  return (
    <FormDialog
      form={form}
      width="46rem"
      title="Import subnets"
      submit={ready ? summary.verb : 'Check'}
      busyText={ready ? 'Importing' : 'Checking'}
      can={
        csv.trim() === ''
          ? no('Choose a file or paste its text first')
          : ready && summary.changes === 0
            ? no('No row changes anything')
            : yes
      }
      command={
        <AsCommand
          complete={csv.trim() !== '' && form.read.ok}
          {...importCommands({ csv, file, origin: apiOrigin() })}
        />
      }
    >
      <p>
        One header row, then one subnet per row. Columns:{' '}
        <span className="mono">{csvColumns.join(', ')}</span>. A row with an{' '}
        <span className="mono">id</span> changes that subnet, others are added. Nothing is written
        unless every row is valid.
      </p>
      <div className="row wrap">
        <input
          ref={picker}
          type="file"
          accept=".csv,text/csv,text/plain"
          className="sr"
          tabIndex={-1}
          aria-label="CSV file"
          onChange={(e) => void pick(e)}
        />
        <ActionButton label="Choose a file" run={() => picker.current?.click()} />
        <span className="t3">{file ?? 'or paste its text'}</span>
      </div>
      <Area
        name="csv"
        label="CSV"
        rows={6}
        mono
        placeholder={
          'name,cidr,gateway,datacenter\npoz-public-b,198.51.100.0/24,198.51.100.1,PL-POZ-1'
        }
        onInput={() => setFile(null)}
      />
      {summary !== null && outcome !== null && (
        <>
          <Alert tone={ready ? 'ok' : 'danger'}>{summary.text}</Alert>
          {outcome.problems.length > 0 && (
            <Listed
              label="Problems"
              noun="problem"
              columns={problemColumns}
              rows={outcome.problems}
            />
          )}
          {outcome.rows.length > 0 && (
            <Listed
              label="What each row does"
              noun="row"
              columns={rowColumns}
              rows={outcome.rows}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

interface ListedProps<Row> {
  label: string
  noun: string
  columns: readonly PlainColumn<Row>[]
  rows: readonly Row[]
}

/**
 * The first rows of a table, and the number of further ones. The last column takes the remaining
 * width.
 */
function Listed<Row>({ label, noun, columns, rows }: ListedProps<Row>) {
  return (
    <div className={css['box']} role="group" aria-label={label} {...reachable}>
      <PlainTable columns={columns} rows={rows.slice(0, most)} />
      {rows.length > most && (
        <p className="t3">and {counted(rows.length - most, `more ${noun}`)}</p>
      )}
    </div>
  )
}
