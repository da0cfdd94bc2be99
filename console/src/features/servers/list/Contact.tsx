import type { ListedServer } from '#contract/servers/servers.ts'
import { ago, exact } from '../../../lib/time/time.ts'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { typingEndsInMs } from '../../../ui/typing.ts'
import { contactOf } from '../server-state.ts'

/**
 * The `<time>` elements of the page. One timer updates their texts without React: re-rendering a
 * thousand components would be too slow.
 */
const times = new Set<HTMLTimeElement>()
let timer: ReturnType<typeof setInterval> | undefined

/**
 * While the user types, this many of the timer's updates in a row are left out, because a frame
 * with many new texts delays the next letter.
 */
const mostLeftOut = 3
let leftOut = 0

function write(time: HTMLTimeElement): void {
  const text = ago(time.dateTime)
  if (time.textContent !== text) time.textContent = text
}

function writeAll(): void {
  leftOut = typingEndsInMs() > 0 && leftOut < mostLeftOut ? leftOut + 1 : 0
  if (leftOut === 0) times.forEach(write)
}

function keepTime(time: HTMLTimeElement): () => void {
  write(time)
  times.add(time)
  timer ??= setInterval(writeAll, 1000)
  return () => {
    times.delete(time)
    if (times.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/**
 * "18 s ago", live, with the exact time on hover. `key` makes React create a new element for a new
 * time, so that the old text is never shown.
 */
const Ago = ({ at }: { at: string }) => (
  <time key={at} ref={keepTime} className="num" dateTime={at} title={exact(at)} />
)

/**
 * Time of the server's last response. The reason of a failure is shown beside the server's status.
 * `plain`: without the shape of an operation, which the status says too.
 */
export function Contact({
  server,
  sentence = false,
  plain = false,
}: {
  server: ListedServer
  sentence?: boolean
  plain?: boolean
}) {
  const { talos } = server
  const contact = contactOf(server)
  if (contact.kind === 'never')
    return <span className="t3">{contact.silent ? 'Never answered' : 'Not asked yet'}</span>
  if (contact.kind === 'answered') {
    return (
      <>
        {sentence && 'Answered '}
        <Ago at={contact.at} />
      </>
    )
  }
  if (contact.kind === 'away') {
    const seen =
      contact.at === null ? (
        'Not seen yet'
      ) : (
        <>
          {sentence && 'Last seen '}
          <Ago at={contact.at} />
        </>
      )
    return (
      <span
        title={[talos.reason, contact.at && `last answer ${exact(contact.at)}`]
          .filter(Boolean)
          .join(', ')}
      >
        {plain ? seen : <StatusDot tone="busy">{seen}</StatusDot>}
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
