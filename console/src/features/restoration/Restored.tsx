import { useState } from 'react'
import { heldText } from '#contract/operations/held-text.ts'
import type { Answer } from '#contract/operation.ts'
import { type Operation, operationTitle } from '#contract/operations.ts'
import {
  canResumeCluster,
  clusterResume,
  operationResume,
  type restorationGet,
} from '#contract/restoration.ts'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { mayChange } from '../../layout/operations/may-change.ts'
import { resumeCluster } from '../../layout/operations/resume-cluster.tsx'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { both, confirm } from '../../ui/actions.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'
import css from './Restored.module.css'

const shownFirst = 4

type Restoration = Answer<typeof restorationGet>

/**
 * Banner on every page while clusters or operations are on hold after a restore, with buttons to
 * resume them.
 */
export default function Restored({ of }: { of: Restoration & { restored: object } }) {
  const [all, setAll] = useState(false)
  const { restored, clusters, operations } = of
  const resumeOperation = (o: Operation) =>
    confirm({
      title: `Resume: ${operationTitle(o)}?`,
      text: `The operation continues from its state of ${moment(restored.backup_made_at)}.`,
      label: 'Resume',
      out: 'Not yet',
      act: async () => {
        await call(operationResume, { params: { id: o.id } })
        await queryClient.invalidateQueries()
      },
    })
  const count = clusters.length + operations.length
  const shown = all ? count : shownFirst
  return (
    <div className={css['restored']}>
      <Alert tone="warn">
        <p>
          <b>
            {restored.missing === null
              ? 'Restored from a backup of '
              : 'The database went back in time, to '}
            <time title={exact(restored.backup_made_at)}>{moment(restored.backup_made_at)}</time>
            {restored.missing !== null && `, and lacks ${restored.missing}`}.
          </b>{' '}
          Nothing is sent to these until somebody has checked and resumed them.
        </p>
        <ul className={css['held']} aria-label="Held since the restore">
          {clusters.slice(0, shown).map((c) => (
            <li key={c.id}>
              <a className={css['name']} href={paths.cluster(c.id)}>
                {c.name}
              </a>
              <span className="grow">{heldText(c)}</span>
              <ActionButton
                label="Resume"
                size="small"
                aria-label={`Resume ${c.name}`}
                can={both(allowed(clusterResume), canResumeCluster(c))}
                run={() => resumeCluster(c, restored)}
              />
            </li>
          ))}
          {operations.slice(0, Math.max(0, shown - clusters.length)).map((o) => (
            <li key={o.id}>
              <a className={css['name']} href={paths.operation(o.id)}>
                {operationTitle(o)}
              </a>
              <span className="grow">by {o.created_by ?? 'Steelyard'}</span>
              <ActionButton
                label="Resume"
                size="small"
                aria-label={`Resume ${operationTitle(o)}`}
                can={mayChange(o)}
                run={() => resumeOperation(o)}
              />
            </li>
          ))}
        </ul>
        {!all && count > shownFirst && (
          <Button size="small" kind="ghost" onClick={() => setAll(true)}>
            Show all {count}
          </Button>
        )}
      </Alert>
    </div>
  )
}
