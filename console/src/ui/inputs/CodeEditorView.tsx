import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
  startCompletion,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { Compartment, EditorState, type Text } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useImperativeHandle, useLayoutEffect, useRef } from 'react'
import { afterBack, indentBelow } from './editor-text.ts'
import { nonce } from '../../lib/nonce.ts'
import type { CodeEditorViewProps, CodeHint, CodeProblem } from './CodeEditor.tsx'
import css from './CodeEditor.module.css'
import { unrecorded } from '../text/unrecorded.ts'

const colours = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: 'var(--syn-key)' },
  { tag: [tags.string, tags.content, tags.special(tags.string)], color: 'var(--syn-str)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--syn-num)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--syn-com)' },
  { tag: [tags.meta, tags.documentMeta], color: 'var(--text-3)' },
])

const look = EditorView.theme({
  '&': {
    height: '100%',
    backgroundColor: 'transparent',
    color: 'var(--text-1)',
    fontSize: 'var(--fs-12)',
  },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--font-mono)',
    lineHeight: '20px',
    fontFeatureSettings: '"calt" 0',
    scrollbarWidth: 'thin',
  },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--text-1)' },
  '.cm-line': { padding: '0 12px 0 6px' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--text-3)', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '34px', padding: '0 8px 0 4px' },
  '.cm-gutter-lint': { width: '14px' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--well)' },
  '.cm-activeLineGutter': { color: 'var(--text-1)' },
  '.cm-cursor': { borderLeftColor: 'var(--text-1)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { backgroundColor: 'var(--accent-soft)' },
  '&.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--accent-soft)',
    outline: '1px solid var(--accent)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface-3)',
    color: 'var(--text-1)',
    border: '1px solid var(--line-2)',
    borderRadius: 'var(--r-1)',
    boxShadow: 'var(--shadow-1)',
    zIndex: 'var(--z-popover)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--font-mono)',
    fontSize: 'var(--fs-12)',
    maxHeight: '15em',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px', lineHeight: '18px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent-soft)',
    color: 'var(--text-1)',
  },
  '.cm-completionDetail': {
    color: 'var(--text-3)',
    fontStyle: 'normal',
    fontFamily: 'var(--font-sans)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', color: 'var(--accent)' },
  '.cm-completionInfo': {
    maxWidth: '320px',
    padding: '8px 10px',
    fontFamily: 'var(--font-sans)',
    fontSize: 'var(--fs-12)',
    lineHeight: 'var(--lh-12)',
    color: 'var(--text-2)',
  },
  '.cm-diagnostic': {
    padding: '6px 10px',
    borderLeft: '3px solid var(--danger)',
    fontFamily: 'var(--font-sans)',
    fontSize: 'var(--fs-12)',
    lineHeight: 'var(--lh-12)',
    maxWidth: '360px',
  },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-diagnostic-info': { borderLeftColor: 'var(--info)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--danger) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--warn) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-lint-marker': {
    content: 'none',
    width: '8px',
    height: '8px',
    marginTop: '6px',
    backgroundColor: 'var(--danger)',
    borderRadius: '1px',
  },
  '.cm-lint-marker-warning': { backgroundColor: 'var(--warn-fill)', borderRadius: '50%' },
  '.cm-lint-marker-info': { backgroundColor: 'var(--info)', borderRadius: '50%' },
})

const linesOf = (state: EditorState): string[] => state.doc.toString().split('\n')

/** Range of a problem in the document. A problem without a line is shown at the first line. */
function rangeOf(doc: Text, problem: CodeProblem): { from: number; to: number } {
  const line = doc.line(Math.max(1, Math.min(doc.lines, problem.line ?? 1)))
  const indent = line.text.length - line.text.trimStart().length
  const from = Math.min(line.to, line.from + (problem.column ? problem.column - 1 : indent))
  return { from, to: Math.max(line.to, from) }
}

/** Indents the new line below a key without a value. The YAML language support doesn't do this. */
function newLineBelowKey(editor: EditorView): boolean {
  const { state } = editor
  const { from, empty } = state.selection.main
  const line = state.doc.lineAt(from)
  const spaces = indentBelow(state.sliceDoc(line.from, from))
  if (state.readOnly || !empty || spaces === null || state.sliceDoc(from, line.to).trim() !== '')
    return false
  editor.dispatch(state.replaceSelection(`\n${' '.repeat(spaces)}`), {
    scrollIntoView: true,
    userEvent: 'input',
  })
  return true
}

export default function CodeEditorView({
  label,
  value,
  onValue,
  readOnly = false,
  problems = [],
  suggest,
  explain,
  ref,
  selected,
}: CodeEditorViewProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const options = useRef(new Compartment())
  // Texts that were reported by `onValue` and have not arrived as `value` yet.
  const told = useRef<string[]>([value])
  // The editor is created once, but always calls the latest callbacks.
  const latest = useRef({ onValue, suggest, explain })
  useEffect(() => {
    latest.current = { onValue, suggest, explain }
  })

  // A layout effect, so that no keystroke is lost between the plain text area and the editor.
  useLayoutEffect(() => {
    const complete = (context: CompletionContext): CompletionResult | null => {
      const word = context.matchBefore(/[\w./-]*/)
      if (
        latest.current.suggest === undefined ||
        (!context.explicit && (word === null || word.from === word.to))
      )
        return null
      const line = context.state.doc.lineAt(context.pos)
      const found = latest.current.suggest(
        linesOf(context.state),
        line.number - 1,
        context.pos - line.from,
      )
      if (found.length === 0) return null
      return {
        from: word?.from ?? context.pos,
        validFor: /^[\w./-]*$/,
        options: found.map((s) => ({
          label: s.label,
          detail: s.type,
          ...(s.text !== '' && { info: s.text }),
          apply:
            s.is === 'key'
              ? `${s.label}:${s.type === 'object' || s.type === 'list' ? '' : ' '}`
              : s.label,
        })),
      }
    }
    const hover = hoverTooltip((editor, pos) => {
      const line = editor.state.doc.lineAt(pos)
      const about = latest.current.explain?.(linesOf(editor.state), line.number - 1)
      if (!about || !line.text.slice(0, pos - line.from + about.key.length).includes(about.key))
        return null
      return {
        pos: line.from + Math.max(0, line.text.indexOf(about.key)),
        above: false,
        create: () => ({ dom: hintElement(about) }),
      }
    })
    const editor = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          ...(nonce === undefined ? [] : [EditorView.cspNonce.of(nonce)]),
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          indentUnit.of('  '),
          EditorState.tabSize.of(2),
          yaml(),
          syntaxHighlighting(colours),
          autocompletion({ override: [complete], icons: false }),
          hover,
          look,
          // Tab moves the focus, so that keyboard users can leave the editor (WCAG 2.1.2). Ctrl-]
          // and Ctrl-[ indent.
          keymap.of([
            { key: 'Enter', run: newLineBelowKey },
            ...closeBracketsKeymap,
            ...defaultKeymap,
            ...historyKeymap,
            ...completionKeymap,
            ...lintKeymap,
            { key: 'Ctrl-.', run: startCompletion },
          ]),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return
            const text = update.state.doc.toString()
            told.current.push(text)
            latest.current.onValue?.(text)
          }),
          options.current.of([]),
        ],
      }),
    })
    view.current = editor
    if (selected.current !== null) {
      const [anchor, head] = selected.current
      editor.focus()
      editor.dispatch({ selection: { anchor, head } })
    }
    return () => {
      view.current = null
      editor.destroy()
    }
    // Not repeated when the props change: the effects below apply later changes to the editor.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [])

  useEffect(() => {
    view.current?.dispatch({
      effects: options.current.reconfigure([
        EditorState.readOnly.of(readOnly),
        EditorView.editable.of(!readOnly),
        EditorView.contentAttributes.of({
          'aria-label': label,
          'aria-readonly': String(readOnly),
          ...(readOnly && { tabindex: '0' }),
        }),
      ]),
    })
  }, [label, readOnly, options])

  useEffect(() => {
    const editor = view.current
    if (editor === null) return
    const left = afterBack(told.current, value)
    told.current = left ?? []
    if (left !== null || editor.state.doc.toString() === value) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } })
  }, [value])

  useEffect(() => {
    const editor = view.current
    if (editor === null) return
    const diagnostics: Diagnostic[] = problems.map((problem) => ({
      ...rangeOf(editor.state.doc, problem),
      severity: problem.severity ?? 'error',
      message: problem.message,
    }))
    editor.dispatch(setDiagnostics(editor.state, diagnostics))
  }, [problems])

  useImperativeHandle(
    ref,
    () => ({
      focus: () => view.current?.focus(),
      goTo: (line) => {
        const editor = view.current
        if (editor === null) return
        const { from } = editor.state.doc.line(Math.max(1, Math.min(editor.state.doc.lines, line)))
        editor.dispatch({
          selection: { anchor: from },
          effects: EditorView.scrollIntoView(from, { y: 'center' }),
        })
        editor.focus()
      },
    }),
    [],
  )
  return <div ref={host} className={css['editor']} {...unrecorded} />
}

function hintElement({ key, type, text, values }: CodeHint): HTMLElement {
  const part = (tag: string, name: string | undefined, content: string) => {
    const element = document.createElement(tag)
    element.className = name ?? ''
    element.textContent = content
    return element
  }
  const box = part('div', css['hint'], '')
  box.append(part('b', 'mono', key), ' ', part('span', 't3', type), part('p', 't2', text))
  if (values.length > 0) box.append(part('p', 't3', `One of ${values.join(', ')}`))
  return box
}
