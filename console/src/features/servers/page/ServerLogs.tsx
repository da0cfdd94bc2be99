import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { type Server, serverLogs, serverServices } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { authorized, CallError } from '../../../api/client.ts'
import { read } from '../../../api/http.ts'
import { query } from '../../../api/query.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Select, Switch } from '../../../ui/inputs/Choices.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Empty, useSlow } from '../../../ui/feedback/States.tsx'
import { Alert, StatusDot } from '../../../ui/feedback/Status.tsx'
import css from './ServerLogs.module.css'

/** The newest lines of a streamed log. */
interface LogText {
  lines: readonly string[]
  /** The incomplete last line. */
  rest: string
  /** Number of dropped lines, so that line numbers stay stable. */
  dropped: number
}

export const emptyLog: LogText = { lines: [], rest: '', dropped: 0 }

const mostLines = 5000
/** Maximum length of a line. The rest of a longer line is dropped. */
export const mostCharacters = 4000

export function appended(log: LogText, piece: string, most = mostLines): LogText {
  const parts = (log.rest + piece).split('\n')
  const rest = (parts.pop() ?? '').slice(0, mostCharacters)
  const all = [
    ...log.lines,
    ...parts.map((line) => line.replace(/\r$/, '').slice(0, mostCharacters)),
  ]
  const over = Math.max(0, all.length - most)
  return { lines: over === 0 ? all : all.slice(over), rest, dropped: log.dropped + over }
}

/**
 * These two logs are available even before Talos reports its services. The kernel's log contains
 * messages of Talos, its installer and the hardware. The log of machined contains a line per API
 * call.
 */
const kernelLog = { id: 'kernel', state: 'Talos and the hardware' }
const machinedLog = { id: 'machined', state: '' }
const tails = ['100', '200', '500', '1000', '2000'] as const

type State =
  | { kind: 'asking' }
  | { kind: 'following' }
  | { kind: 'ended' }
  | { kind: 'refused'; reason: string }
  | { kind: 'broken'; reason: string }

interface Asked {
  id: string
  service: string
  follow: boolean
  tail: string
}

/** Reads a service's log until it ends or the component unmounts. */
function useLog({ id, service, follow, tail }: Asked): { log: LogText; state: State } {
  const [log, setLog] = useState<LogText>(emptyLog)
  const [state, setState] = useState<State>({ kind: 'asking' })
  useEffect(() => {
    const stop = new AbortController()
    const run = async () => {
      const response = await authorized(
        serverLogs,
        {
          params: { id },
          query: { service, tail: Number(tail), ...(follow && { follow: 'true' }) },
        },
        { signal: stop.signal },
      )
      if (!response.ok || response.body === null) {
        await read(serverLogs, { params: { id } }, response)
        return
      }
      setState({ kind: 'following' })
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        setLog((now) => appended(now, value))
      }
      setState({ kind: 'ended' })
    }
    run().catch((error: unknown) => {
      if (stop.signal.aborted) return
      setState({
        kind: error instanceof CallError && error.status === 409 ? 'refused' : 'broken',
        reason: reasonOf(error),
      })
    })
    return () => stop.abort()
  }, [id, service, follow, tail])
  return { log, state }
}

/** The log of a service, with controls for service, follow and number of lines. */
export function ServerLogs({ server }: { server: Server }) {
  const [service, setService] = useState(kernelLog.id)
  const [follow, setFollow] = useState(true)
  const [tail, setTail] = useState<string>('200')
  const [turn, setTurn] = useState(0)
  const { data: services, error } = useQuery({
    ...query(serverServices, { params: { id: server.id } }),
    retry: false,
  })
  const known = services?.items ?? []
  const withMachined = known.some((s) => s.id === machinedLog.id) ? known : [machinedLog, ...known]
  const options = [kernelLog, ...withMachined.filter((s) => s.id !== kernelLog.id)]
  return (
    <>
      <div className="toolbar">
        <Select
          mono
          aria-label="Log"
          value={service}
          options={options.map((s) => ({
            value: s.id,
            text: s.id,
            ...(s.state !== '' && { more: s === kernelLog ? s.state : s.state.toLowerCase() }),
          }))}
          onValue={setService}
        />
        <Select
          aria-label="Lines from the end"
          value={tail}
          options={tails.map((n) => ({ value: n, text: `Last ${n} lines` }))}
          onValue={setTail}
        />
        <Switch label="Follow" checked={follow} onChange={setFollow} />
      </div>
      {services === undefined && error !== null && (
        <p className="fs13 t2" role="note">
          The other logs of this server are not known: {reasonOf(error)}
        </p>
      )}
      {/* Every change of service, follow or lines starts a new request. */}
      <Log
        key={`${service} ${follow} ${tail} ${turn}`}
        id={server.id}
        service={service}
        follow={follow}
        tail={tail}
        onRetry={() => setTurn(turn + 1)}
      />
    </>
  )
}

function Log({ onRetry, ...asked }: Asked & { onRetry: () => void }) {
  const { log, state } = useLog(asked)
  const { service, follow } = asked
  if (state.kind === 'refused')
    return <Empty boxed title="No logs from this server now" text={state.reason} />
  return (
    <Panel
      flush
      title={service}
      note={
        <span aria-live="polite">
          {state.kind === 'following' && (
            <StatusDot tone={follow ? 'ok' : 'busy'}>{follow ? 'Following' : 'Reading'}</StatusDot>
          )}
          {state.kind === 'ended' && (
            <StatusDot tone="off">
              {follow ? 'The server ended the log' : counted(log.lines.length, 'line')}
            </StatusDot>
          )}
          {state.kind === 'asking' && <StatusDot tone="busy">Requesting</StatusDot>}
          {state.kind === 'broken' && <StatusDot tone="danger">Interrupted</StatusDot>}
        </span>
      }
    >
      {state.kind === 'broken' && (
        <Alert tone="danger" action={<ActionButton label="Try again" size="small" run={onRetry} />}>
          {state.reason}
        </Alert>
      )}
      <Lines
        log={log}
        follow={follow}
        waiting={state.kind === 'asking'}
        label={`Log of ${service}`}
      />
    </Panel>
  )
}

/** Scrollable boxes must be focusable (WCAG 2.1.1). */
const reachable = { tabIndex: 0 }

/** Log lines. If the view is at the end, it follows new lines. */
function Lines({
  log,
  follow,
  waiting,
  label,
}: {
  log: LogText
  follow: boolean
  waiting: boolean
  label: string
}) {
  const box = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  const slow = useSlow()
  const lines = useRef<HTMLDivElement>(null)
  const toEnd = useCallback(() => {
    if (follow && atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [follow])
  useLayoutEffect(toEnd)
  // Wrapped lines are higher than estimated, so scroll again after rendering.
  useEffect(() => {
    if (lines.current === null) return undefined
    const grown = new ResizeObserver(toEnd)
    grown.observe(lines.current)
    return () => grown.disconnect()
  }, [toEnd])
  return (
    <div
      ref={box}
      className={css['log']}
      role="region"
      aria-label={label}
      {...reachable}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget
        atEnd.current = scrollHeight - scrollTop - clientHeight < 24
      }}
    >
      <div ref={lines} className={css['lines']}>
        {log.lines.map((line, i) => (
          <div key={log.dropped + i}>{line}</div>
        ))}
        {log.rest !== '' && <div>{log.rest}</div>}
      </div>
      {log.lines.length === 0 && log.rest === '' && (
        <div className="t3">{waiting ? slow && 'Requesting the log…' : 'The log is empty.'}</div>
      )}
    </div>
  )
}
