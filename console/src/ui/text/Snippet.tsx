import { CopyIcon } from './Copyable.tsx'
import css from './Snippet.module.css'
import { unrecorded } from './unrecorded.ts'

/**
 * A script, command line or document in a monospaced font, with a copy button. `wrap`: long lines
 * are wrapped, for text without line breaks.
 */
export function Snippet({
  title,
  text,
  wrap = false,
}: {
  title: string
  text: string
  wrap?: boolean
}) {
  return (
    <section className={css['snippet']} aria-label={title} {...unrecorded}>
      <header>
        <h3 className="label">{title}</h3>
        <CopyIcon text={text} label={`Copy ${title.toLowerCase()}`} size="small" />
      </header>
      <pre className={wrap ? css['wrap'] : undefined} tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </section>
  )
}
