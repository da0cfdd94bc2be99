import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import {
  hasEnded,
  operationCancel,
  operationGet,
  canCancelOperation,
  type Step,
} from '#contract/operations.ts'
import { hostsOf, parseAddress, readCidr, sizeOf } from '#contract/network/addresses.ts'
import { all } from '#contract/rule.ts'
import { addressesAtOnce, addressesListed, serverAdd } from '#contract/servers/servers.ts'
import { count, counted } from '#contract/words.ts'
import { everyDatacenter } from '../../../api/every.ts'
import { call } from '../../../api/client.ts'
import { invalidate, query } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { listOf } from '../../../lib/text.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { DialogContext, useDialog } from '../../../ui/overlay/dialogs.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Problem, StatusDot, type Tone } from '../../../ui/feedback/Status.tsx'
import { Unread } from '../../../ui/feedback/Unread.tsx'
import css from './AddServers.module.css'
import { HardwareToConfirm } from './ConfirmHardware.tsx'
import { refreshServers } from '../server-queries.ts'

/**
 * Adds servers by address: the form, then the results as they arrive, then the hardware to confirm.
 * `state` is `new` or the operation's id. The URL contains it, so a reload shows the same state.
 */
export default function AddServers({
  state,
  onState,
}: {
  state: string | undefined
  onState: (state: string | undefined) => void
}) {
  const [last, setLast] = useState(state)
  if (state !== undefined && state !== last) setLast(state)
  if (last === undefined) return null
  return (
    <DialogContext value={{ open: state !== undefined, close: () => onState(undefined) }}>
      {last === 'new' ? (
        <WhatToAdd onBegun={onState} />
      ) : (
        <Progress id={last} onAgain={() => onState('new')} />
      )}
    </DialogContext>
  )
}

/** `count`: number of probed addresses, without the network and broadcast address of a CIDR. */
type Wanted =
  | { ok: true; body: { addresses: string[] } | { cidr: string }; count: number }
  | { ok: false; problem: string }

const wrong = (problem: string): Wanted => ({ ok: false, problem })

/** Parses the input: addresses or one CIDR, by the API's rules. */
export function readAddresses(text: string): Wanted {
  const entries = [...new Set(listOf(text))]
  if (entries.length === 0) return wrong('Enter at least one address')
  const cidrs = entries.filter((e) => e.includes('/'))
  if (cidrs.length > 0) {
    if (entries.length > 1) return wrong('Give either addresses or a single CIDR')
    const read = readCidr(cidrs[0]!)
    if (!read.ok)
      return wrong(
        read.corrected === null
          ? `"${cidrs[0]!.slice(0, 64)}" is not a CIDR`
          : `Host bits are set: did you mean ${read.corrected}?`,
      )
    if (sizeOf(read.cidr) > BigInt(addressesAtOnce))
      return wrong(`A CIDR may hold at most ${count(addressesAtOnce)} addresses (an IPv4 /22)`)
    return { ok: true, body: { cidr: cidrs[0]! }, count: [...hostsOf(read.cidr)].length }
  }
  const bad = entries.find((e) => parseAddress(e) === null)
  if (bad !== undefined) return wrong(`"${bad.slice(0, 64)}" is not an IP address`)
  if (entries.length > addressesListed)
    return wrong(
      `${count(entries.length)} addresses are too many: at most ${count(addressesListed)} at once`,
    )
  return { ok: true, body: { addresses: entries }, count: entries.length }
}

const blank = { addresses: '', datacenter_id: '' }
const { Area, Choose } = fieldsFor<typeof blank>()

function WhatToAdd({ onBegun }: { onBegun: (operation: string) => void }) {
  const answer = useQuery(everyDatacenter)
  const datacenters = answer.data
  const form = useForm({
    initial: blank,
    read: ({ addresses, datacenter_id }) => {
      const wanted = readAddresses(addresses)
      return wanted.ok
        ? { ok: true, body: { ...wanted.body, datacenter_id: datacenter_id || null } }
        : { ok: false, fields: { addresses: wanted.problem } }
    },
    send: (body, key) => call(serverAdd, { body }, { key }),
    done: ({ operation }) => onBegun(operation.id),
    // The form has one field for addresses and CIDR.
    at: ({ addresses, cidr, ...rest }) => ({ ...rest, addresses: addresses ?? cidr }),
  })
  const wanted = readAddresses(form.values.addresses)
  const { addresses = [], cidr }: { addresses?: string[]; cidr?: string } = wanted.ok
    ? wanted.body
    : {}
  const site = datacenters?.items.find((d) => d.id === form.values.datacenter_id)
  return (
    <FormDialog
      form={form}
      width="34rem"
      title="Add servers by address"
      submit={
        wanted.ok && wanted.count > 1 ? `Contact ${count(wanted.count)} addresses` : 'Add servers'
      }
      can={allowed(serverAdd)}
      command={
        <AsCommand
          complete={form.read.ok}
          cli={cliOf(['server', 'add', ...addresses], { cidr, datacenter: site?.code })}
          api={curlOf(serverAdd, {}, form.read.ok ? form.read.body : {})}
        />
      }
    >
      <p className="fs13 t2">
        Steelyard contacts each address and lists the servers that wait in Talos maintenance mode.
        Nothing is changed on them.
      </p>
      <Area
        name="addresses"
        label="Addresses or a CIDR"
        hint={
          wanted.ok
            ? `${counted(wanted.count, 'address', 'addresses')} will be contacted.`
            : 'Addresses separated by lines or commas, or one CIDR of at most a /22: 10.20.14.0/24'
        }
        mono
        rows={5}
        autoComplete="off"
        autoCapitalize="none"
        placeholder={'10.20.14.37\n10.20.14.38'}
      />
      <Unread what="The datacenters" of={answer} />
      <Choose
        name="datacenter_id"
        label="Datacenter"
        optional
        none="None yet"
        options={(datacenters?.items ?? []).map((d) => ({
          value: d.id,
          text: d.code,
          more: d.city_name,
        }))}
      />
    </FormDialog>
  )
}

const tones: Record<Step['status'], { tone: Tone; word: string }> = {
  todo: { tone: 'off', word: 'To do' },
  running: { tone: 'busy', word: 'Contacting' },
  waiting: { tone: 'warn', word: 'Waiting' },
  done: { tone: 'ok', word: 'Answered' },
  failed: { tone: 'danger', word: 'Not added' },
  skipped: { tone: 'off', word: 'Not added' },
}
/**
 * Whether the probed address belongs to a server that is already listed, which is not a failure.
 */
const isListed = (step: Step): boolean => step.status === 'skipped' && step.node_id !== null
const toneOf = (step: Step): (typeof tones)[Step['status']] =>
  isListed(step) ? { tone: 'idle', word: 'In the list' } : tones[step.status]
/** The probed address, from the step's key. */
const addressOf = (step: Step): string =>
  step.key.startsWith('probe/') ? step.key.slice('probe/'.length) : step.title

/** Order of results: found, running, not added, already listed, no response. */
const order: Record<Step['status'], number> = {
  done: 0,
  running: 1,
  waiting: 1,
  failed: 2,
  skipped: 4,
  todo: 5,
}
const rankOf = (step: Step): number => (isListed(step) ? 3 : order[step.status])

function Progress({ id, onAgain }: { id: string; onAgain: () => void }) {
  const { close } = useDialog()
  const answer = useQuery(query(operationGet, { params: { id } }))
  const { data: operation } = answer
  const over = operation !== undefined && hasEnded(operation)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    if (over) void refreshServers()
  }, [over])
  const steps = (operation?.steps ?? []).toSorted((a, b) => rankOf(a) - rankOf(b))
  const found = [
    ...new Set(
      steps.flatMap((s) => (s.status === 'done' && s.node_id !== null ? [s.node_id] : [])),
    ),
  ]
  const ended = steps.filter(
    (s) => s.status === 'done' || s.status === 'failed' || s.status === 'skipped',
  ).length
  const cancel = () => {
    call(operationCancel, { params: { id } }).then(
      () => invalidate(operationGet),
      (failure: unknown) => setProblem(reasonOf(failure)),
    )
  }
  return (
    <Dialog
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
            <ActionButton label="Add more" run={onAgain} />
            <ActionButton label="Done" kind="primary" run={() => close()} />
          </>
        ) : (
          <>
            {operation && (
              <ActionButton
                label="Cancel"
                can={all(allowed(operationCancel), canCancelOperation(operation))}
                run={cancel}
              />
            )}
            <ActionButton label="Continue in the background" kind="primary" run={() => close()} />
          </>
        )
      }
    >
      {operation === undefined ? (
        <Pending of={answer} boxed={false} rows={3} />
      ) : (
        <div className="stack">
          {found.length > 0 && <HardwareToConfirm ids={found} />}
          <Problem text={problem} />
          <section aria-label="Results">
            <h3 className="label" aria-live="polite">
              {over
                ? `${count(ended)} of ${count(steps.length)} contacted${operation.reason === null ? '' : `: ${operation.reason}`}`
                : `${count(ended)} of ${count(steps.length)} contacted so far`}
            </h3>
            <a className="fs13" href={paths.operation(id)}>
              Operation
            </a>
            <ul className={css['results']} {...(steps.length > 8 && { tabIndex: 0 })}>
              {steps.map((step) => (
                <li key={step.key}>
                  <span className="mono">{addressOf(step)}</span>
                  <span className={css['result']}>
                    <StatusDot tone={toneOf(step).tone} why={step.reason} whole>
                      {toneOf(step).word}
                    </StatusDot>
                    {step.node_id !== null && (
                      <a
                        href={paths.server(step.node_id)}
                        aria-label={`Open the server at ${addressOf(step)}`}
                      >
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
