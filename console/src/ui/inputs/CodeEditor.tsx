import { type Ref, type RefObject, Suspense, useRef } from 'react'
import { ErrorState } from '../feedback/States.tsx'
import { type MissingProps, missingText, part } from '../part.tsx'
import css from './CodeEditor.module.css'
import { unrecorded } from '../text/unrecorded.ts'

export interface CodeProblem {
  /** Counts from 1; null or absent: the whole text. */
  line?: number | null | undefined
  column?: number | null | undefined
  message: string
  severity?: 'error' | 'warning' | 'info' | undefined
}

export interface CodeHint {
  key: string
  type: string
  text: string
  values: readonly string[]
}

export interface CodeEditorHandle {
  focus: () => void
  /** Moves the cursor to a line, counted from 1, and scrolls to it. */
  goTo: (line: number) => void
}

export interface CodeEditorProps {
  label: string
  value: string
  onValue?: (value: string) => void
  readOnly?: boolean
  problems?: readonly CodeProblem[]
  /** Completions at a line and column, both from 0. */
  suggest?: (
    lines: readonly string[],
    line: number,
    column: number,
  ) => readonly { label: string; type: string; text: string; is: 'key' | 'value' }[]
  /** Explains the key at a line, from 0. */
  explain?: (lines: readonly string[], line: number) => CodeHint | null
  ref?: Ref<CodeEditorHandle>
}

export interface CodeEditorViewProps extends CodeEditorProps {
  /**
   * Selection in the plain text area if the area has the focus. The editor takes over the selection
   * and the focus.
   */
  selected: RefObject<readonly [from: number, to: number] | null>
}

/** Shown until the editor's code has loaded: a plain text area. */
function PlainArea({
  props,
  selected,
}: {
  props: CodeEditorProps
  selected: CodeEditorViewProps['selected']
}) {
  // The pointer is pressed, so the focus will follow.
  const pressed = useRef(false)
  return (
    <textarea
      ref={(area) => () => {
        selected.current =
          area !== null && (pressed.current || area === document.activeElement)
            ? [area.selectionStart, area.selectionEnd]
            : null
      }}
      className={css['plain']}
      {...unrecorded}
      aria-label={props.label}
      value={props.value}
      onMouseDown={() => {
        pressed.current = true
      }}
      onMouseUp={() => {
        pressed.current = false
      }}
      readOnly={props.readOnly}
      spellCheck={false}
      onChange={(event) => props.onValue?.(event.target.value)}
    />
  )
}

/** If the editor's code can't be loaded, the text can still be edited. */
const MissingEditor = ({
  of: { selected, ...props },
  retry,
}: MissingProps<CodeEditorViewProps>) => (
  <>
    <ErrorState error={new Error(missingText)} onRetry={retry} />
    <PlainArea props={props} selected={selected} />
  </>
)

const View = part(() => import('./CodeEditorView.tsx'), MissingEditor)

/**
 * YAML editor with highlighting, completion, explanations and problems by line. Until the editor's
 * code has loaded, a plain text area is shown. Tab leaves the editor; if a list is open, Escape
 * closes the list first.
 */
export function CodeEditor(props: CodeEditorProps) {
  const selected = useRef<readonly [number, number] | null>(null)
  return (
    <Suspense fallback={<PlainArea props={props} selected={selected} />}>
      <View {...props} selected={selected} />
    </Suspense>
  )
}
