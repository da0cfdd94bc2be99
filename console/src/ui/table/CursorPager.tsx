import { Button } from '../inputs/Button.tsx'
import css from './Pager.module.css'

interface CursorPagerProps {
  /** What the page shows: "50 entries". */
  text: string
  /** The links' words, such as "Newest" and "Older". */
  words: readonly [first: string, next: string]
  /** Null on the first page. */
  onFirst: (() => void) | null
  /** Null on the last page. */
  onNext: (() => void) | null
}

/** The pager of a list that is read by cursors: its pages have no numbers. */
export const CursorPager = ({ text, words: [first, next], onFirst, onNext }: CursorPagerProps) => (
  <div className={css['pager']}>
    <span aria-live="polite">{text}</span>
    {(onFirst !== null || onNext !== null) && (
      <nav className={css['nav']} aria-label="Pages">
        <Button
          size="small"
          can={onFirst === null ? { ok: false, reason: 'This is the first page' } : undefined}
          onClick={() => onFirst?.()}
        >
          {first}
        </Button>
        <Button
          size="small"
          can={onNext === null ? { ok: false, reason: 'This is the last page' } : undefined}
          onClick={() => onNext?.()}
        >
          {next}
        </Button>
      </nav>
    )}
  </div>
)
