import { timeText } from '../../ui/charts/chart-text.ts'
import { Tooltip } from '../../ui/overlay/Tooltip.tsx'
import { useMedia } from '../../lib/use-media.ts'
import { marksOf, type Moment } from './moments.ts'
import css from './Moments.module.css'

/** Moments that a tooltip lists. */
const listed = 6

const said = ({ at, text }: Moment): string => `${timeText(at / 1000)}: ${text}`

/** A line of marks above the charts: what happened when, each with a link to the history. */
export function Moments({
  moments,
  period,
  historyOf,
}: {
  moments: readonly Moment[]
  /** In ms since 1970. */
  period: { readonly from: number; readonly to: number }
  /** The page of the history of a period in ISO 8601. */
  historyOf: (period: { since: string; until: string }) => string
}) {
  const isNarrow = useMedia('below', 'sm')
  const isWide = !useMedia('below', 'md')
  // A mark is 24 px wide.
  const slots = isNarrow ? 10 : isWide ? 32 : 20
  const marks = marksOf(moments, period, slots)
  if (marks.length === 0) return null
  return (
    <ul className={css['line']} aria-label="What happened">
      {marks.map(({ place, moments: some }) => {
        const [first, last] = [some[0]!, some.at(-1)!]
        const more = some.length - listed
        const lines = [
          ...some.slice(0, listed).map(said),
          ...(more > 0 ? [`and ${more} more`] : []),
        ]
        const href = historyOf({
          since: new Date(first.at).toISOString(),
          until: new Date(last.at + 1_000).toISOString(),
        })
        return (
          <li
            key={first.at}
            className={css['mark']}
            style={{ insetInlineStart: `${place * 100}%` }}
          >
            <Tooltip
              delay={0}
              text={lines.map((line) => (
                <span key={line} className={css['said']}>
                  {line}
                </span>
              ))}
            >
              <a
                href={href}
                aria-label={`${some.length > 1 ? `${some.length} entries: ` : ''}${lines.join('; ')}`}
              >
                {some.length > 1 ? some.length : ''}
              </a>
            </Tooltip>
          </li>
        )
      })}
    </ul>
  )
}
