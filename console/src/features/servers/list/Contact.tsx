import { useSyncExternalStore } from 'react'
import type { Server } from '#contract/servers/servers.ts'
import { ago, exact, moment } from '../../../lib/time.ts'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { contactOf } from '../server-state.ts'

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** One timer for all times on the page. A time re-renders only when its text changes. */
function eachSecond(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    for (const tell of listeners) tell()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** "18 s ago", live, with the exact time on hover. */
function Ago({ at }: { at: string }) {
  const text = useSyncExternalStore(eachSecond, () => ago(at))
  return (
    <time className="num" dateTime={at} title={exact(at)}>
      {text}
    </time>
  )
}

/** Time of the server's last response. The reason of a failure is shown beside the server's status. */
export function Contact({ server, sentence = false }: { server: Server; sentence?: boolean }) {
  const { talos } = server
  const contact = contactOf(server)
  if (contact.kind === 'never') return <span className="t3">{contact.silent ? 'Never answered' : 'Not contacted yet'}</span>
  if (contact.kind === 'answered') {
    return (
      <>
        {sentence && 'Answered '}
        <Ago at={contact.at} />
      </>
    )
  }
  if (contact.kind === 'away') {
    return (
      <span title={[talos.reason, contact.at && `last answer ${exact(contact.at)}`].filter(Boolean).join(', ')}>
        <StatusDot tone="busy">{contact.at === null ? 'Not seen yet' : `Last seen ${moment(contact.at)}`}</StatusDot>
      </span>
    )
  }
  return (
    <span className="c-danger">
      {sentence && 'Answered '}
      <Ago at={contact.at} />
    </span>
  )
}
