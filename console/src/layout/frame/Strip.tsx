import { liveState } from '../../api/live-state.ts'
import { useStore } from '../../lib/store.ts'
import { zone } from '../../lib/time/time.ts'
import { clock } from '../../lib/time/clock.ts'
import { cx } from '../../ui/cx.ts'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { useInstallation } from '../../api/installation.ts'
import css from './Strip.module.css'

/**
 * The strip at the bottom shows whether the page is live. Its right corner is free for the version
 * label.
 */
export function Strip({ inPast }: { inPast: boolean }) {
  const { state, lastEventAt, since: sinceAt } = useStore(liveState)
  const installation = useInstallation()
  const since = sinceAt === null ? '' : `since ${clock(sinceAt)}`
  const [tone, words] = (
    {
      live: ['ok', 'Live'],
      silent: ['danger', `Not answering ${since}`],
      polling: ['warn', 'No live updates; refreshing every 15 s'],
      connecting: ['busy', 'Connecting'],
    } as const
  )[state]
  return (
    <footer className={css['strip']}>
      {/* Announces changes of the live state to screen readers. */}
      <span className={css['state']} role="status">
        {inPast ? (
          <span className="c-accent">The past: nothing can be changed</span>
        ) : (
          <StatusDot quiet tone={tone} why={state === 'polling' ? since : undefined}>
            {state === 'silent' ? <b className="c-danger">{words}</b> : words}
          </StatusDot>
        )}
      </span>
      {!inPast && lastEventAt !== null && (
        <span className="hide-sm num">last event {clock(lastEventAt)}</span>
      )}
      <span className="hide-sm">times in {zone()}</span>
      {installation?.simulated && (
        <span
          className={css['simulated']}
          title="The servers here are a simulation: none of them is real hardware"
        >
          Simulated
          {/* On narrow screens the word "servers" is shown only in the state `live`: the texts of other states leave no room. */}
          <span className={cx(state !== 'live' && 'hide-sm')}> servers</span>
        </span>
      )}
    </footer>
  )
}
