import type { ReactNode } from 'react'
import { paths } from '../../lib/paths.ts'
import { Tabs } from '../../ui/text/Tabs.tsx'
import css from './Alerts.module.css'

const pages = [
  { id: 'channels', text: 'Channels', href: paths.channels() },
  { id: 'rules', text: 'Rules', href: paths.alertRules() },
  { id: 'silences', text: 'Silences', href: paths.silences() },
  { id: 'deliveries', text: 'Deliveries', href: paths.deliveries() },
] as const

/** A page about alerts, below the links to the others. */
export const AlertsFrame = ({
  tab,
  children,
}: {
  tab: (typeof pages)[number]['id']
  children: ReactNode
}) => (
  <>
    <Tabs label="Alerts" current={tab} tabs={pages} />
    <div className={css['content']}>{children}</div>
  </>
)
