import { IconButton } from '../inputs/Button.tsx'
import { useCopy } from './Copyable.tsx'
import css from './Snippet.module.css'
import { unrecorded } from './unrecorded.ts'

export interface SnippetProps {
  title: string
  text: string
  /** Wraps long lines, for text without line breaks. */
  wrap?: boolean
}

/** A script, command line or document in a monospaced font, with a copy button. */
export function Snippet({ title, text, wrap = false }: SnippetProps) {
  const { copied, copy } = useCopy()
  return (
    <section className={css['snippet']} aria-label={title} {...unrecorded}>
      <header>
        <h3 className="label">{title}</h3>
        <span className={copied ? css['said'] : 'sr'} aria-live="polite">
          {copied ? 'Copied' : ''}
        </span>
        <IconButton size="small" icon={copied ? 'check' : 'copy'} label={`Copy ${title.toLowerCase()}`} onClick={() => copy(text)} />
      </header>
      <pre className={wrap ? css['wrap'] : undefined} tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </section>
  )
}
