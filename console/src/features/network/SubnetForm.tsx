import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { Related } from '#contract/errors.ts'
import { all, no, yes } from '#contract/rule.ts'
import { canChangeCidr, canChangePurpose, type Subnet, subnetCreate, subnetGet, subnetUpdate } from '#contract/network/subnets.ts'
import type { Datacenter } from '#contract/datacenters.ts'
import { call, CallError } from '../../api/client.ts'
import { newKey } from '../../api/http.ts'
import { allowed } from '../../api/session.ts'
import { useDraft } from '../../api/use-draft.ts'
import { useLeaveGuard } from '../../layout/use-leave-guard.ts'
import { paths } from '../../lib/paths.ts'
import { curlOf } from '../../lib/shell.ts'
import { reasonOf } from '../../lib/reason.ts'
import { useGo } from '../../lib/use-search.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Checkbox, Field, Select, TextArea, TextInput } from '../../ui/inputs/Field.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { refreshNetwork } from './network-queries.ts'
import { SpacePanel } from './SpacePanel.tsx'
import {
  changesOf,
  commandOf,
  type DraftField,
  draftFields,
  draftOf,
  emptyDraft,
  judge,
  merged,
  problemsOfFields,
  readKept,
  sameDraft,
  spaceOf,
  type SubnetDraft,
  toExclude,
  toSend,
  withExclusion,
} from './subnet-form.ts'
import css from './SubnetForm.module.css'
import { FormNotices, type Refusal } from './SubnetNotices.tsx'

const how = { read: readKept, same: sameDraft }
const purposes = [
  { value: 'workload', text: 'Workload' },
  { value: 'management', text: 'Management' },
] as const
const purposeHints = { workload: 'A cluster hands out its addresses', management: 'Carries the addresses of servers; clusters may share it' } as const

/** Adds a subnet (`subnet` null), or changes one. What the space amounts to is drawn beside it as it is typed. */
export function SubnetForm({
  subnet,
  newer,
  onNewest,
  datacenters,
  preset,
}: {
  subnet: Subnet | null
  /** Somebody changed it since the page was opened. */
  newer?: Subnet | null
  /** Goes on from theirs. */
  onNewest?: (subnet: Subnet) => void
  datacenters: readonly Datacenter[]
  /** Code of the datacenter that is chosen to begin with. */
  preset?: string | undefined
}) {
  const client = useQueryClient()
  const go = useGo()
  const site = subnet === null ? (datacenters.find((d) => d.code === preset)?.id ?? (datacenters.length === 1 ? datacenters[0]!.id : '')) : ''
  const saved = useMemo(() => (subnet === null ? { ...emptyDraft, datacenterId: site } : draftOf(subnet)), [subnet, site])
  const kept = useDraft(`subnet/${subnet?.id ?? 'new'}`, saved, subnet?.version ?? null, how)
  const { draft, setDraft, dirty } = kept
  const { problems, corrected } = useMemo(() => judge(draft), [draft])
  const [left, setLeft] = useState<ReadonlySet<DraftField>>(new Set())
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [busy, setBusy] = useState(false)
  const attempt = useRef(newKey())
  const form = useRef<HTMLFormElement>(null)

  useEffect(() => {
    if (subnet === null) form.current?.querySelector('input')?.focus()
  }, [subnet])
  // What was refused is gone to once it is marked.
  useEffect(() => {
    if (refusal !== null) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [refusal])
  const focusOn = (field: DraftField) => form.current?.querySelector<HTMLElement>(`[name="${field}"]`)?.focus()
  const mayLeave = useLeaveGuard(dirty, 'subnet')

  const refused = refusal?.kind === 'failed' ? problemsOfFields(refusal.fields) : {}
  const errorOf = (field: DraftField): string | undefined => refused[field] ?? (left.has(field) ? problems[field] : undefined)
  const edit = (change: Partial<SubnetDraft>) => {
    setRefusal(null)
    setDraft(change)
  }
  const leave = (field: DraftField) => setLeft((now) => new Set(now).add(field))
  const wire = (field: 'name' | 'cidr' | 'gateway' | 'vlan') => ({
    name: field,
    value: draft[field],
    onValue: (value: string) => edit({ [field]: value }),
    onBlur: () => draft[field] !== '' && leave(field),
    autoComplete: 'off',
    spellCheck: false,
  })

  const send = (version: number | undefined): Promise<Subnet> =>
    subnet === null
      ? call(subnetCreate, { body: toSend(draft) }, { key: attempt.current })
      : call(subnetUpdate, { params: { id: subnet.id }, body: changesOf(draft, subnet) }, version === undefined ? {} : { version })

  const save = async (version = subnet?.version) => {
    setLeft(new Set(draftFields))
    if (busy) return
    if (Object.keys(problems).length > 0) {
      queueMicrotask(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus())
      return
    }
    setBusy(true)
    setRefusal(null)
    try {
      const done = await send(version)
      mayLeave(true)
      await kept.settle()
      await refreshNetwork(client)
      toast.success(subnet === null ? `${done.name} was added` : `${done.name} was changed`)
      await go(paths.network({ q: done.name, open: done.id }))
    } catch (error) {
      mayLeave(false)
      setRefusal(await refusalOf(error, subnet))
      // What is sent next is another request, and must not be answered with this one's answer.
      if (error instanceof CallError && error.status > 0 && error.status < 500) attempt.current = newKey()
    } finally {
      setBusy(false)
    }
  }
  const takeTheirs = (theirs: Subnet, mine: SubnetDraft) => {
    setRefusal(null)
    kept.discard()
    setDraft(mine)
    onNewest?.(theirs)
  }

  const code = subnet?.datacenter.code ?? datacenters.find((d) => d.id === draft.datacenterId)?.code ?? 'CODE'
  const operation = subnet === null ? subnetCreate : subnetUpdate
  const canCidr = subnet === null ? yes : canChangeCidr(subnet)
  const canPurpose = subnet === null ? yes : canChangePurpose(subnet)
  const type = spaceOf(draft)?.type
  const sentence = refusal?.kind === 'failed' ? (refused.cidr ?? refused.exclude ?? refusal.message) : ''
  const stands = toExclude(sentence)

  return (
    <>
      <h1 className="sr">{subnet === null ? 'Add subnet' : `Edit subnet ${subnet.name}`}</h1>
      <FormNotices
        restored={dirty ? kept.restored : null}
        newer={newer ?? null}
        was={subnet}
        mine={draft}
        refusal={refusal}
        onDiscard={() => {
          kept.discard()
          focusOn('name')
        }}
        onTheirs={(theirs) => takeTheirs(theirs, draftOf(theirs))}
        onMerge={(theirs) => takeTheirs(theirs, merged(saved, draftOf(theirs), draft))}
      />
      <div className={css['cols']}>
        <Panel
          title={subnet === null ? 'Subnet' : subnet.name}
          note={subnet !== null && subnet.clusters.length > 0 && `of ${subnet.clusters.map((c) => c.name).join(', ')}`}
        >
          <form
            ref={form}
            noValidate
            onSubmit={(event) => {
              event.preventDefault()
              void save()
            }}
          >
            <div className={css['fields']}>
              <Field label="Name" error={errorOf('name')}>
                <TextInput {...wire('name')} autoCapitalize="none" />
              </Field>
              <Field label="Datacenter" error={errorOf('datacenterId')} hint={subnet === null ? undefined : 'Fixed: its routes lead there'}>
                {subnet === null ? (
                  <Select
                    value={draft.datacenterId}
                    placeholder="Choose a datacenter"
                    options={datacenters.map((d) => ({ value: d.id, text: d.code, more: d.city_name }))}
                    onValue={(datacenterId) => edit({ datacenterId })}
                    onBlur={() => leave('datacenterId')}
                  />
                ) : (
                  <TextInput value={subnet.datacenter.code} readOnly />
                )}
              </Field>
              <div>
                <Field label="CIDR" note={type} error={errorOf('cidr')} hint={!canCidr.ok ? canCidr.reason : 'IPv4 or IPv6, such as 198.18.7.0/26'}>
                  <TextInput {...wire('cidr')} mono readOnly={!canCidr.ok} />
                </Field>
                <Fixes
                  corrected={left.has('cidr') ? corrected : null}
                  stands={stands}
                  related={refusal?.kind === 'failed' ? refusal.related : null}
                  onCorrect={(cidr) => {
                    edit({ cidr })
                    focusOn('cidr')
                  }}
                  onExclude={(address) => {
                    edit({ exclude: withExclusion(draft.exclude, address) })
                    focusOn('exclude')
                  }}
                />
              </div>
              <Field label="Gateway" optional error={errorOf('gateway')} hint="The router's address in it; never handed out">
                <TextInput {...wire('gateway')} mono />
              </Field>
              <Field label="VLAN ID" optional error={errorOf('vlan')} hint="1 to 4094; none where it comes untagged">
                <TextInput {...wire('vlan')} inputMode="numeric" className="num" />
              </Field>
              <Field label="Purpose" error={errorOf('purpose')} hint={canPurpose.ok ? purposeHints[draft.purpose] : canPurpose.reason}>
                <Select value={draft.purpose} options={purposes} disabled={!canPurpose.ok} onValue={(purpose) => edit({ purpose })} />
              </Field>
              <Field
                label="Exclude IPs"
                optional
                className={css['wide']}
                error={errorOf('exclude')}
                hint="One per line or separated by commas: an address, a CIDR, or a range such as 198.18.7.2-198.18.7.9"
              >
                <TextArea
                  name="exclude"
                  value={draft.exclude}
                  onValue={(exclude) => edit({ exclude })}
                  onBlur={() => draft.exclude !== '' && leave('exclude')}
                  rows={4}
                  mono
                  spellCheck={false}
                />
              </Field>
              <div className={css['wide']}>
                <Checkbox label="Use first and last address" checked={draft.firstAndLast} onChange={(firstAndLast) => edit({ firstAndLast })} />
                <p className="t3 fs12">For space that is routed and not on a link: nothing there is a network or broadcast address.</p>
              </div>
            </div>
            <div className={css['buttons']}>
              <Button kind="ghost" can={dirty ? yes : no('Nothing was changed')} onClick={kept.discard}>
                Discard
              </Button>
              <AsCommand
                complete={Object.keys(problems).length === 0}
                cli={commandOf(draft, code, subnet)}
                api={curlOf(operation, { id: subnet?.id ?? '' }, subnet === null ? toSend(draft) : changesOf(draft, subnet), {
                  origin: location.origin,
                  version: subnet?.version,
                })}
              />
              <span className="grow" />
              <Button
                kind="primary"
                type="submit"
                busy={busy}
                busyText="Saving"
                can={subnet === null ? allowed(subnetCreate) : all(allowed(subnetUpdate), dirty ? yes : no('Nothing was changed'))}
              >
                {subnet === null ? 'Add subnet' : 'Save subnet'}
              </Button>
            </div>
          </form>
        </Panel>
        <SpacePanel draft={draft} />
      </div>
    </>
  )
}

/** Why it was not saved; with theirs, where somebody else was quicker. */
async function refusalOf(error: unknown, subnet: Subnet | null): Promise<Refusal> {
  if (error instanceof CallError && error.status === 412 && subnet !== null) {
    try {
      return { kind: 'stale', message: error.message, theirs: await call(subnetGet, { params: { id: subnet.id } }) }
    } catch {
      return { kind: 'failed', message: error.message, fields: {}, related: null }
    }
  }
  return {
    kind: 'failed',
    message: reasonOf(error),
    fields: error instanceof CallError ? error.fields : {},
    related: error instanceof CallError ? error.related : null,
  }
}

/** What is wrong and can be put right with one press, or where it can be looked at. */
function Fixes({
  corrected,
  stands,
  related,
  onCorrect,
  onExclude,
}: {
  corrected: string | null
  /** The address of a server that stands in it. */
  stands: string | null
  related: Related | null
  onCorrect: (cidr: string) => void
  onExclude: (address: string) => void
}) {
  const leads =
    related === null
      ? null
      : related.kind === 'subnet'
        ? paths.network({ q: related.name, open: related.id })
        : related.kind === 'server'
          ? paths.server(related.id)
          : paths.cluster(related.id)
  if (corrected === null && stands === null && leads === null) return null
  return (
    <div className={css['fix']}>
      {corrected !== null && (
        <Button size="small" onClick={() => onCorrect(corrected)}>
          Use {corrected}
        </Button>
      )}
      {stands !== null && (
        <Button size="small" onClick={() => onExclude(stands)}>
          Exclude {stands}
        </Button>
      )}
      {leads !== null && related !== null && (
        <a className="fs13" href={leads}>
          Show {related.kind} {related.name}
        </a>
      )}
    </div>
  )
}
