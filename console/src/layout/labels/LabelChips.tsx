import type { Labels } from '#contract/labels/selector.ts'
import { labelText } from '../../lib/label.ts'
import { paths } from '../../lib/paths.ts'
import css from './LabelChips.module.css'

/** The selector of objects with a label. */
const selectorFor = ([key, value]: readonly [string, string]): string =>
  value === '' ? `${key}=` : `${key}=${value}`

/** Labels as links to the servers or clusters that have them. In a list they have one line. */
export default function LabelChips({
  labels,
  of,
  inList = false,
}: {
  labels: Labels
  of: 'server' | 'cluster'
  inList?: boolean
}) {
  const list = of === 'server' ? paths.servers : paths.clusters
  const all = Object.entries(labels)
  return (
    <span
      className={inList ? css['line'] : css['chips']}
      title={inList ? all.map(labelText).join(', ') : undefined}
    >
      {all.map((label) => (
        <a
          key={label[0]}
          className={css['chip']}
          href={list({ label: selectorFor(label) })}
          title={`Show the ${of}s with ${labelText(label)}`}
        >
          {labelText(label)}
        </a>
      ))}
    </span>
  )
}
