import { useEffect, useRef, useState } from 'react'
import { Button, IconButton } from '../inputs/Button.tsx'
import css from './Copyable.module.css'
import { cx } from '../cx.ts'
import { Icon } from '../pictures/Icon.tsx'
import { unrecorded } from './unrecorded.ts'

/** How long "Copied" shows, in ms. Specified. */
const copiedMs = 550

/**
 * Copies text to the clipboard. Pages over plain HTTP have no clipboard API and use a selection.
 */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.style.position = 'fixed'
  document.body.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  if (!done) throw new Error('The browser does not allow copying here')
}

export function useCopy(): { copied: boolean; copy: (text: string) => void } {
  const [copied, setCopied] = useState(false)
  const timer = useRef(0)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = (text: string) => {
    void (async () => {
      try {
        await copyText(text)
      } catch {
        return setCopied(false)
      }
      setCopied(true)
      clearTimeout(timer.current)
      timer.current = window.setTimeout(() => setCopied(false), copiedMs)
    })()
  }
  return { copied, copy }
}

/**
 * A value that a click copies. Copies the whole value even if `shown` is shortened. `what` names
 * the value: "Copy serial".
 */
export function Copyable({
  value,
  what,
  mono = true,
  shown = value,
}: {
  value: string
  what?: string
  mono?: boolean
  shown?: string
}) {
  const { copied, copy } = useCopy()
  return (
    <button
      type="button"
      className={cx(css['copy'], mono && 'mono', copied && css['copied'])}
      title={value}
      onClick={(event) => {
        event.stopPropagation()
        copy(value)
      }}
    >
      <span className="clip">{shown}</span>
      <Icon name={copied ? 'check' : 'copy'} size={12} />
      <span className={copied ? css['flag'] : 'sr'} aria-live="polite">
        {copied ? 'Copied' : what === undefined ? 'Copy' : `Copy ${what}`}
      </span>
    </button>
  )
}

/** A button that copies `text`. */
export function CopyButton({ text }: { text: string }) {
  const { copied, copy } = useCopy()
  return (
    <Button size="small" icon={copied ? 'check' : 'copy'} onClick={() => copy(text)}>
      {copied ? 'Copied' : 'Copy'}
    </Button>
  )
}

/**
 * A command to run elsewhere. `shown` may abbreviate long parts; the button copies `command`, and
 * so does copying a selection of an abbreviated text. `what` names the copied text: "Copy token".
 */
export function Command({
  command,
  shown = command,
  prompt = '$',
  what,
}: {
  command: string
  shown?: string
  prompt?: string
  what?: string
}) {
  return (
    <div className={cx(css['cmd'], shown.includes('\n') && css['lines'])} {...unrecorded}>
      <span className={css['prompt']} aria-hidden="true">
        {prompt}
      </span>
      <code
        title={command}
        onCopy={(event) => {
          if (shown === command) return
          event.preventDefault()
          event.clipboardData.setData('text/plain', command)
        }}
      >
        {shown}
      </code>
      <CopyIcon text={command} label={what === undefined ? 'Copy' : `Copy ${what}`} />
    </div>
  )
}

/** An icon button that copies `text` and then shows "Copied". */
export function CopyIcon({ text, label, size }: { text: string; label: string; size?: 'small' }) {
  const { copied, copy } = useCopy()
  return (
    <>
      <span className={copied ? css['said'] : 'sr'} aria-live="polite">
        {copied ? 'Copied' : ''}
      </span>
      <IconButton
        icon={copied ? 'check' : 'copy'}
        label={label}
        size={size}
        className={copied ? css['copied'] : ''}
        onClick={() => copy(text)}
      />
    </>
  )
}
