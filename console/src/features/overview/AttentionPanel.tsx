import { useId, useState } from 'react'
import type { Finding } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import type { Attention } from '#contract/overview.ts'
import { counted } from '#contract/words.ts'
import { FindingMenu } from '../../layout/findings/FindingMenu.tsx'
import { pageOfFinding } from '../../layout/findings/remedies.ts'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { count } from '../../lib/units.ts'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { Badge, StatusDot } from '../../ui/feedback/Status.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import css from './Attention.module.css'
import { groupText } from './attention-text.ts'
import frame from './Overview.module.css'

type Group = Attention['groups'][number]

/** Fewer findings of a group are listed one by one. */
const groupedFrom = 3

const Since = ({ at }: { at: string }) => (
  <time className="t3 num" dateTime={at} title={exact(at)}>
    since {moment(at)}
  </time>
)

const One = ({ finding }: { finding: Finding }) => (
  <li className={css['line']}>
    <StatusDot tone={findingTones[finding.severity]}>{findingKinds[finding.kind].word}</StatusDot>
    <a className="strong" href={pageOfFinding(finding)}>
      {finding.object.name}
    </a>
    <p>{finding.reason}</p>
    <span className={css['when']}>
      <Since at={finding.since} />
      <FindingMenu finding={finding} />
    </span>
  </li>
)

/** Many findings in one line, which opens to the newest of them. */
function Many({ group }: { group: Group }) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const { kind, severity, datacenter, items } = group
  const all = paths.findings({ kind, datacenter: datacenter?.code })
  const what = counted(group.count, findingKinds[kind].object)
  return (
    <>
      <li className={css['line']}>
        <StatusDot tone={findingTones[severity]}>{findingKinds[kind].word}</StatusDot>
        <a className="strong" href={all}>
          {what}
        </a>
        <p>{groupText(group)}</p>
        <span className={css['when']}>
          <Since at={group.since} />
          <Button
            size="small"
            aria-expanded={isOpen}
            aria-controls={id}
            aria-label={`${isOpen ? 'Hide' : 'Show'} ${what}: ${findingKinds[kind].title}`}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Hide' : 'Show'}
          </Button>
        </span>
      </li>
      <li id={id} className={css['many']} hidden={!isOpen}>
        {isOpen && (
          <ul>
            {items.map((finding) => (
              <One key={finding.id} finding={finding} />
            ))}
            {group.count > items.length && (
              <li className={css['more']}>
                <a href={all}>All {what}</a>
              </li>
            )}
          </ul>
        )}
      </li>
    </>
  )
}

/** What nobody looks after yet, the worst first, and how much else there is. */
export function AttentionPanel({
  attention: { total, acknowledged, silenced, groups },
}: {
  attention: Attention
}) {
  const shown = groups.reduce((n, group) => n + group.count, 0)
  const looked = [
    acknowledged > 0 && `${count(acknowledged)} acknowledged`,
    silenced > 0 && `${count(silenced)} silenced`,
  ].filter((text) => text !== false)
  return (
    <Panel
      className={frame['first']}
      title="Needs attention"
      note={total > 0 && <Badge tone="danger">{count(total)}</Badge>}
      flush={total > 0}
      actions={
        <a href={paths.findings()}>
          {total > shown ? `All ${count(total)} findings` : 'All findings'}
        </a>
      }
    >
      {total === 0 ? (
        <p className={frame['quiet']}>Nothing needs attention.</p>
      ) : (
        <ul className={css['attention']}>
          {groups.flatMap((group) =>
            group.count < groupedFrom
              ? group.items.map((finding) => <One key={finding.id} finding={finding} />)
              : [<Many key={`${group.kind} ${group.datacenter?.id}`} group={group} />],
          )}
        </ul>
      )}
      {looked.length > 0 && (
        <p className={css['looked']}>
          <a href={paths.findings()}>{looked.join(', ')}</a>
        </p>
      )}
    </Panel>
  )
}
