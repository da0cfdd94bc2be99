import type { ReactNode } from 'react'
import { type Tone, StatusDot } from '../../ui/Status.tsx'
import css from './StatusReason.module.css'

/** A state in a table and why: the reason stands beside it, or where that is too narrow, or `below` is wanted, under it on up to three lines. */
export const StatusReason = ({ tone, why, below = false, children }: { tone: Tone; why: string | null; below?: boolean; children: ReactNode }) => (
  <span className={below ? `${css['status']} ${css['below']}` : css['status']}>
    <StatusDot tone={tone}>{children}</StatusDot>
    {why !== null && why !== '' && (
      <span className={css['reason']} title={why}>
        {why}
      </span>
    )}
  </span>
)
