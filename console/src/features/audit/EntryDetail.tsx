import { auditGet, type AuditRow } from '#contract/audit.ts'
import { download } from '../../api/client.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { exact } from '../../lib/time/time.ts'
import { count } from '../../lib/units.ts'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { KeyValue } from '../../ui/text/Panel.tsx'
import { actorSaid, objectSaid, operationOf, resultSaid } from './audit-entry.ts'
import css from './AuditPage.module.css'

const saveEntry = (seq: number): Promise<unknown> =>
  download(auditGet, { params: { seq } }, `audit-${seq}.json`).catch((error: unknown) =>
    toast.error(`The entry could not be downloaded: ${reasonOf(error)}`),
  )

/** Everything that an entry records. */
export function EntryDetail({ entry: e }: { entry: AuditRow }) {
  const operation = operationOf(e)
  const { tone, word, why } = resultSaid(e)
  return (
    <div className={css['detail']}>
      <KeyValue
        rows={[
          ['Number', count(e.seq)],
          ['Time', exact(e.at)],
          ['Who', actorSaid(e)],
          ['From', e.ip && <Copyable value={e.ip} what="address" />],
          ['Action', <span className="mono">{e.action}</span>],
          ['Object', objectSaid(e)],
          e.target?.id != null && [
            'Id of the object',
            <Copyable value={e.target.id} what="id of the object" />,
          ],
          [
            'Result',
            <StatusDot tone={tone} why={why} whole>
              {word}
            </StatusDot>,
          ],
          operation !== null && ['Operation', <a href={paths.operation(operation)}>Open</a>],
          ['Request', e.request_id && <Copyable value={e.request_id} what="request id" />],
          ['Hash', <Copyable value={e.hash} what="hash" />],
        ]}
      />
      <div className="stack stack3">
        <Fields title="Before" of={e.before} />
        <Fields title={e.before === null ? 'Recorded' : 'After'} of={e.after} />
        {e.shortened && (
          <div className="row">
            <ActionButton
              label="Download the whole entry"
              icon="download"
              size="small"
              run={() => saveEntry(e.seq)}
            />
          </div>
        )}
      </div>
    </div>
  )
}

function Fields({ title, of }: { title: string; of: Readonly<Record<string, unknown>> | null }) {
  if (of === null || Object.keys(of).length === 0) return null
  return (
    <section className="stack stack2" aria-label={title}>
      <h2 className="label">{title}</h2>
      <pre className={css['json']} tabIndex={0} aria-label={title}>
        {JSON.stringify(of, null, 2)}
      </pre>
    </section>
  )
}
