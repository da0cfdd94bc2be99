import { timeText } from '../../ui/charts/chart-text.ts'
import { cx } from '../../ui/cx.ts'
import { type ContactOverTime, contactOver, shareText, type Silence } from './contact.ts'
import css from './ContactStrip.module.css'

/** Silences that are listed. */
const listed = 20

const cellOf = (share: number | null): string | undefined =>
  share === null
    ? css['none']
    : share === 1
      ? css['all']
      : share === 0
        ? css['silent']
        : css['some']

const silenceText = ({ from, to, isPartial }: Silence): string =>
  `${timeText(from / 1000)} to ${timeText(to / 1000)}${isPartial ? ', answered at times' : ''}`

/** Whether and when a server answered, as a strip over the period. */
export function ContactStrip({
  values,
  startsAt,
  stepSeconds,
}: {
  /** Part of the contacts that were answered, by step; null without a contact. */
  values: readonly (number | null)[]
  startsAt: string
  stepSeconds: number
}) {
  const period = { from: Date.parse(startsAt), stepMs: stepSeconds * 1000 }
  const contact = contactOver(values, period, 96)
  if (contact.answered === null) return null
  return (
    <figure className={css['contact']}>
      <figcaption className={css['head']}>
        <span className={css['title']}>Contact</span>
        <span>answered {shareText(contact.answered)} of the contacts in this period</span>
      </figcaption>
      <div className={css['strip']} aria-hidden="true">
        {contact.cells.map((share, i) => (
          <i key={i} className={cx(cellOf(share))} />
        ))}
      </div>
      <Silences of={contact} />
    </figure>
  )
}

function Silences({ of: { silences } }: { of: ContactOverTime }) {
  if (silences.length === 0) return null
  const more = silences.length - listed
  return (
    <details className="fs12">
      <summary>When it did not answer ({silences.length})</summary>
      <ul>
        {silences.slice(0, listed).map((silence) => (
          <li key={silence.from}>{silenceText(silence)}</li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </details>
  )
}
