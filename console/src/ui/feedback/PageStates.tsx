import type { Action } from '../actions.ts'
import { ActionButton } from '../inputs/ActionButton.tsx'
import { Empty, ErrorState, SkeletonRows } from './States.tsx'

interface PendingProps {
  /** A query without data: still loading, or failed. */
  of: { error: unknown; refetch: () => unknown }
  rows?: number
  widths?: readonly number[]
  boxed?: boolean
}

/**
 * Shown in place of missing data: a placeholder while the data loads, or why loading failed, with a
 * retry.
 */
export const Pending = ({
  of: { error, refetch },
  rows = 8,
  boxed = true,
  ...shape
}: PendingProps) =>
  error ? (
    <ErrorState boxed={boxed} error={error} onRetry={() => void refetch()} />
  ) : (
    <SkeletonRows rows={rows} {...shape} />
  )

/**
 * Shown in place of a page about an object that does not exist. `noun` is the kind of object,
 * `back` leads to the list of these objects.
 */
export const NotFound = ({
  noun,
  title,
  text,
  back,
}: {
  noun: string
  title: string
  text: string
  back: Action
}) => (
  <>
    <h1 className="sr">{noun} not found</h1>
    <Empty boxed title={title} text={text} actions={<ActionButton {...back} kind="primary" />} />
  </>
)
