import { type ChangeEvent, type ReactNode, useRef, useState } from 'react'
import { importLimits, type ImportProblem, tooLargeImport } from '#contract/csv/imports.ts'
import type { Operation } from '#contract/operation.ts'
import { no, yes } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { apiOrigin } from '../../lib/api-origin.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { type PlainColumn, PlainTable } from '../../ui/table/PlainTable.tsx'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { Alert } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import css from './CsvImport.module.css'
import {
  importCommands,
  type Imported,
  type ImportNouns,
  type ImportRow,
  summaryOf,
} from './csv-import.ts'

/** Maximum number of table rows shown. A file may have thousands; the others are only counted. */
const most = 200
/** Scrollable boxes must be focusable (WCAG 2.1.1). */
const reachable = { tabIndex: 0 }

const problemColumns: readonly PlainColumn<ImportProblem>[] = [
  { head: 'Line', cell: (p) => p.line },
  { head: 'Column', cell: (p) => <code>{p.column ?? '–'}</code> },
  { head: 'Problem', cell: (p) => p.message },
]

const { Area } = fieldsFor<{ csv: string }>()

interface CsvImportProps<Row extends ImportRow> {
  title: string
  /** What a row means. */
  children: ReactNode
  placeholder: string
  nouns: ImportNouns
  operation: Operation
  /** @param key idempotency key; undefined if nothing is written */
  send: (body: { csv: string; dry_run: boolean }, key: string | undefined) => Promise<Imported<Row>>
  rowColumns: readonly PlainColumn<Row>[]
  /** Reads the lists again. */
  refresh: () => Promise<unknown>
}

/**
 * Imports objects from CSV. First checks the file and shows problems by line and the effect of each
 * row. Writes only if there are no problems.
 */
export function CsvImport<Row extends ImportRow>({
  title,
  children,
  placeholder,
  nouns,
  operation,
  send,
  rowColumns,
  refresh,
}: CsvImportProps<Row>) {
  const { close } = useDialog()
  const [file, setFile] = useState<string | null>(null)
  const [checked, setChecked] = useState<{ csv: string; outcome: Imported<Row> } | null>(null)
  const picker = useRef<HTMLInputElement>(null)
  const form = useForm({
    initial: { csv: '' },
    read: ({ csv }) =>
      new TextEncoder().encode(csv).length > importLimits.bytes
        ? { ok: false, fields: { csv: tooLargeImport } }
        : { ok: true, body: { csv, dry_run: !isChecked(csv) } },
    send: (body, key) => send(body, body.dry_run ? undefined : key),
    done: async (answer, { csv, dry_run }) => {
      setChecked({ csv, outcome: answer })
      if (dry_run || !answer.written) return
      await refresh()
      toast.success(summaryOf(nouns, answer).done)
      close()
    },
  })
  const { csv } = form.values
  const outcome = checked?.csv === csv ? checked.outcome : null
  const summary = outcome && summaryOf(nouns, outcome)
  const ready = summary !== null && summary.problems === 0
  /** Whether exactly this text was checked without problems. */
  function isChecked(text: string): boolean {
    return checked?.csv === text && summaryOf(nouns, checked.outcome).problems === 0
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
      title={title}
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
          {...importCommands({ operation, nouns, csv, file, origin: apiOrigin() })}
        />
      }
    >
      <p>{children}</p>
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
        placeholder={placeholder}
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
