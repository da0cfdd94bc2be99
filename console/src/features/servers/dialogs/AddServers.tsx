import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { hasEnded, operationCancel, operationGet, canCancelOperation, type Step } from '#contract/operations.ts'
import { all } from '#contract/rule.ts'
import { serverAdd } from '#contract/servers/servers.ts'
import { count, counted } from '#contract/words.ts'
import { call, CallError } from '../../../api/client.ts'
import { invalidate, query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { Field, Select, TextArea } from '../../../ui/inputs/Field.tsx'
import { ErrorState, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Problem, StatusDot, type Tone } from '../../../ui/feedback/Status.tsx'
import { readAddresses } from './add-servers.ts'
import css from './AddServers.module.css'
import { HardwareToConfirm } from './ConfirmHardware.tsx'
import { datacentersQuery, refreshServers } from '../server-queries.ts'

const none = 'none'

/**
 * Adds servers by address: what to probe, then the results one by one as they come, then the hardware to confirm.
 * `state` is `new` or the id of the operation, and stands in the address of the page: a reload goes on where it was.
 */
export function AddServers({ state, onState }: { state: string | undefined; onState: (state: string | undefined) => void }) {
  const [last, setLast] = useState(state)
  if (state !== undefined && state !== last) setLast(state)
  const close = () => onState(undefined)
  if (last === undefined) return null
  return last === 'new' ? (
    <WhatToAdd open={state !== undefined} onClose={close} onBegun={onState} />
  ) : (
    <Progress id={last} open={state !== undefined} onClose={close} onAgain={() => onState('new')} />
  )
}

function WhatToAdd({ open, onClose, onBegun }: { open: boolean; onClose: () => void; onBegun: (operation: string) => void }) {
  const { data: datacenters } = useQuery({ ...datacentersQuery, enabled: open })
  const [text, setText] = useState('')
  const [datacenter, setDatacenter] = useState(none)
  const [touched, setTouched] = useState(false)
  const [busy, setBusy] = useState(false)
  const [refused, setRefused] = useState<{ field: boolean; message: string } | null>(null)
  const area = useRef<HTMLDivElement>(null)
  const read = readAddresses(text)
  const wanted: { addresses?: string[]; cidr?: string } = read.ok ? read.body : {}
  const site = datacenters?.items.find((d) => d.id === datacenter)
  const submit = async () => {
    setTouched(true)
    if (busy) return
    if (!read.ok) return area.current?.querySelector('textarea')?.focus()
    setBusy(true)
    setRefused(null)
    try {
      const { operation } = await call(serverAdd, { body: { ...read.body, datacenter_id: datacenter === none ? null : datacenter } })
      onBegun(operation.id)
    } catch (error) {
      const sentence = error instanceof CallError ? (error.fields['addresses'] ?? error.fields['cidr']) : undefined
      setRefused({ field: sentence !== undefined, message: sentence ?? reasonOf(error) })
    } finally {
      setBusy(false)
    }
    return undefined
  }
  return (
    <Dialog
      open={open}
      onClose={onClose}
      locked={busy}
      width="34rem"
      title="Add servers by address"
      footer={
        <>
          <span className={css['command']}>
            <AsCommand
              complete={read.ok}
              cli={cliOf(['server', 'add', ...(wanted.addresses ?? [])], { cidr: wanted.cidr, datacenter: site?.code })}
              api={curlOf(serverAdd, {}, { ...wanted, datacenter_id: site?.id ?? null }, { origin: location.origin })}
            />
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={busy} busyText="Loading" can={allowed(serverAdd)} onClick={() => void submit()}>
            {read.ok && read.count > 1 ? `Look at ${count(read.count)} addresses` : 'Add servers'}
          </Button>
        </>
      }
    >
      <div className="stack" ref={area}>
        <p className="fs13 t2">Servers that have booted Talos and wait in maintenance mode are found by asking their addresses. Nothing is changed on them.</p>
        <Field
          label="Addresses or a CIDR"
          hint={
            read.ok
              ? `${counted(read.count, 'address', 'addresses')} will be asked.`
              : 'One address per line or commas between, or one CIDR of at most a /22: 10.20.14.0/24'
          }
          error={refused?.field ? refused.message : touched && !read.ok ? read.problem : null}
        >
          <TextArea
            mono
            rows={5}
            value={text}
            onValue={setText}
            onBlur={() => setTouched(text !== '')}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            placeholder={'10.20.14.37\n10.20.14.38'}
          />
        </Field>
        <Field label="Datacenter" optional>
          <Select
            value={datacenter}
            onValue={setDatacenter}
            options={[{ value: none, text: 'None yet' }, ...(datacenters?.items ?? []).map((d) => ({ value: d.id, text: d.code, more: d.city_name }))]}
          />
        </Field>
        <Problem text={refused?.field === false ? refused.message : null} />
      </div>
    </Dialog>
  )
}

const tones: Record<Step['status'], { tone: Tone; word: string }> = {
  todo: { tone: 'off', word: 'To do' },
  running: { tone: 'busy', word: 'Asking' },
  waiting: { tone: 'warn', word: 'Waiting' },
  done: { tone: 'ok', word: 'Answered' },
  failed: { tone: 'danger', word: 'Not added' },
  skipped: { tone: 'off', word: 'Not added' },
}
/** What was asked and turned out to be a server that is in the list has failed in nothing. */
const isListed = (step: Step): boolean => step.status === 'skipped' && step.node_id !== null
const toneOf = (step: Step): (typeof tones)[Step['status']] => (isListed(step) ? { tone: 'idle', word: 'In the list' } : tones[step.status])
/** A step of one address has it in its key. */
const addressOf = (step: Step): string => (step.key.startsWith('probe/') ? step.key.slice('probe/'.length) : step.title)

/** Found ones first, then what is under way, then those that were not added, those that are in the list anyway, and those that did not answer. */
const order: Record<Step['status'], number> = { done: 0, running: 1, waiting: 1, failed: 2, skipped: 4, todo: 5 }
const rankOf = (step: Step): number => (isListed(step) ? 3 : order[step.status])

function Progress({ id, open, onClose, onAgain }: { id: string; open: boolean; onClose: () => void; onAgain: () => void }) {
  const client = useQueryClient()
  const { data: operation, error, refetch } = useQuery(query(operationGet, { params: { id } }))
  const over = operation !== undefined && hasEnded(operation)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    if (over) void refreshServers(client)
  }, [over, client])
  const steps = (operation?.steps ?? []).toSorted((a, b) => rankOf(a) - rankOf(b))
  const found = [...new Set(steps.flatMap((s) => (s.status === 'done' && s.node_id !== null ? [s.node_id] : [])))]
  const ended = steps.filter((s) => s.status === 'done' || s.status === 'failed' || s.status === 'skipped').length
  const cancel = () => {
    call(operationCancel, { params: { id } }).then(
      () => invalidate(client, operationGet),
      (failure: unknown) => setProblem(reasonOf(failure)),
    )
  }
  return (
    <Dialog
      open={open}
      onClose={onClose}
      width="44rem"
      title={
        over
          ? found.length === 0
            ? steps.some(isListed)
              ? 'No new server answered'
              : 'No server answered'
            : `${counted(found.length, 'server')} answered`
          : 'Looking for servers'
      }
      footer={
        over ? (
          <>
            <Button onClick={onAgain}>Add more</Button>
            <Button kind="primary" onClick={onClose}>
              Done
            </Button>
          </>
        ) : (
          <>
            {operation && (
              <Button can={all(allowed(operationCancel), canCancelOperation(operation))} onClick={cancel}>
                Cancel
              </Button>
            )}
            <Button kind="primary" onClick={onClose}>
              Go on in the background
            </Button>
          </>
        )
      }
    >
      {operation === undefined ? (
        error === null ? (
          <SkeletonRows rows={3} />
        ) : (
          <ErrorState error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <div className="stack">
          {found.length > 0 && <HardwareToConfirm ids={found} />}
          <Problem text={problem} />
          <section aria-label="Results">
            <h3 className="label" aria-live="polite">
              {over
                ? `${count(ended)} of ${count(steps.length)} asked${operation.reason === null ? '' : `: ${operation.reason}`}`
                : `${count(ended)} of ${count(steps.length)} asked so far`}
            </h3>
            <ul className={css['results']} {...(steps.length > 8 && { tabIndex: 0 })}>
              {steps.map((step) => (
                <li key={step.key}>
                  <span className="mono">{addressOf(step)}</span>
                  <span className={css['result']}>
                    <StatusDot tone={toneOf(step).tone} why={step.reason} whole>
                      {toneOf(step).word}
                    </StatusDot>
                    {step.node_id !== null && (
                      <a href={paths.server(step.node_id)} aria-label={`Open the server at ${addressOf(step)}`}>
                        Open
                      </a>
                    )}
                  </span>
                </li>
              ))}
            </ul>
          </section>
        </div>
      )}
    </Dialog>
  )
}
