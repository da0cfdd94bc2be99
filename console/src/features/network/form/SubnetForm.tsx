import { useMemo, useState } from 'react'
import type { Related } from '#contract/errors.ts'
import { all, no, yes } from '#contract/rule.ts'
import {
  canChangeCidr,
  canChangePurpose,
  type Subnet,
  subnetCreate,
  subnetGet,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import type { Datacenter } from '#contract/datacenters.ts'
import { isStale } from '../../../api/asking/fresh-version.ts'
import { call, CallError } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { useDraft } from '../../../api/use-draft.ts'
import { useLeaveGuard } from '../../../layout/leave.ts'
import { paths } from '../../../lib/paths.ts'
import { curlOf } from '../../../lib/shell.ts'
import { navigate } from '../../../lib/router.ts'
import { fieldsFor, Form } from '../../../ui/form/fields.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Field, TextInput } from '../../../ui/inputs/Field.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { refreshNetwork } from '../network-queries.ts'
import { SpacePanel } from './SpacePanel.tsx'
import {
  changesOf,
  commandOf,
  correctedOf,
  Draft,
  draftOf,
  emptyDraft,
  merged,
  readForm,
  spaceOf,
  type SubnetDraft,
  toExclude,
  toSend,
  withExclusion,
} from './subnet-form.ts'
import css from './SubnetForm.module.css'
import { FormNotices } from './SubnetNotices.tsx'

const { Text, Area, Choose, Check } = fieldsFor<SubnetDraft>()
const purposes = [
  { value: 'workload', text: 'Workload' },
  { value: 'management', text: 'Management' },
] as const
const purposeHints = {
  workload: 'A cluster assigns the addresses to Services',
  management: 'The addresses of servers; several clusters may share the subnet',
} as const

interface SubnetFormProps {
  subnet: Subnet | null
  /** A newer version that somebody else has saved since the page opened. */
  newer?: Subnet | null
  /** Continues with the newer version. */
  onNewest?: (subnet: Subnet) => void
  datacenters: readonly Datacenter[]
  /** Code of the preselected datacenter. */
  preset?: string | undefined
}

/** Adds a subnet (`subnet` null) or edits one, with a live summary of its address space. */
export function SubnetForm({ subnet, newer, onNewest, datacenters, preset }: SubnetFormProps) {
  const site =
    subnet === null
      ? (datacenters.find((d) => d.code === preset)?.id ??
        (datacenters.length === 1 ? datacenters[0]!.id : ''))
      : ''
  const saved = useMemo(
    () => (subnet === null ? { ...emptyDraft, datacenter_id: site } : draftOf(subnet)),
    [subnet, site],
  )
  const [stale, setStale] = useState<{ error: unknown; theirs: Subnet } | null>(null)
  const form = useForm({
    initial: saved,
    read: readForm,
    send: (body, key) =>
      subnet === null
        ? call(subnetCreate, { body }, { key })
        : call(
            subnetUpdate,
            { params: { id: subnet.id }, body: changesOf(body, subnet) },
            { version: subnet.version },
          ),
    done: async (done) => {
      mayLeave(true)
      await kept.settle()
      await refreshNetwork()
      toast.success(subnet === null ? `${done.name} was added` : `${done.name} was changed`)
      await navigate(paths.network({ q: done.name, open: done.id }))
    },
    failed: async (error) => {
      if (subnet === null || !isStale(error)) return
      setStale({ error, theirs: await call(subnetGet, { params: { id: subnet.id } }) })
    },
  })
  const { values: draft, dirty, failure } = form
  const kept = useDraft(form, `subnet/${subnet?.id ?? 'new'}`, Draft, subnet?.version ?? null)
  const mayLeave = useLeaveGuard(dirty, 'subnet')
  const takeTheirs = (theirs: Subnet, mine: SubnetDraft) => {
    kept.discard()
    form.reset(draftOf(theirs))
    form.restore(mine)
    onNewest?.(theirs)
  }

  const code =
    subnet?.datacenter.code ?? datacenters.find((d) => d.id === draft.datacenter_id)?.code ?? 'CODE'
  const canCidr = subnet === null ? yes : canChangeCidr(subnet)
  const canPurpose = subnet === null ? yes : canChangePurpose(subnet)
  const refusedFor = stale !== null && stale.error === failure ? stale.theirs : null
  const said =
    failure === null ? '' : (form.errorOf('cidr') ?? form.errorOf('exclude') ?? form.problem ?? '')
  const change = subnet === null ? toSend(draft) : changesOf(toSend(draft), subnet)

  return (
    <>
      <h1 className="sr">{subnet === null ? 'Add subnet' : `Edit subnet ${subnet.name}`}</h1>
      <FormNotices
        restored={kept.restored}
        theirs={refusedFor ?? newer ?? null}
        refused={refusedFor !== null}
        was={subnet}
        form={form}
        onDiscard={() => {
          kept.discard()
          form.focus('name')
        }}
        onTheirs={(theirs) => takeTheirs(theirs, draftOf(theirs))}
        onMerge={(theirs) => takeTheirs(theirs, merged(saved, draftOf(theirs), draft))}
      />
      <div className={css['cols']}>
        <Panel
          title={subnet === null ? 'Subnet' : subnet.name}
          note={
            subnet !== null &&
            subnet.clusters.length > 0 &&
            `of ${subnet.clusters.map((c) => c.name).join(', ')}`
          }
        >
          <Form form={form} focusFirst={subnet === null}>
            <div className={css['fields']}>
              <Text name="name" label="Name" autoCapitalize="none" />
              {subnet === null ? (
                <Choose
                  name="datacenter_id"
                  label="Datacenter"
                  placeholder="Choose a datacenter"
                  options={datacenters.map((d) => ({
                    value: d.id,
                    text: d.code,
                    more: d.city_name,
                  }))}
                />
              ) : (
                <Field label="Datacenter" hint="Fixed: the subnet is routed to this datacenter">
                  <TextInput value={subnet.datacenter.code} readOnly />
                </Field>
              )}
              <div>
                <Text
                  name="cidr"
                  label="CIDR"
                  note={spaceOf(draft)?.type}
                  hint={!canCidr.ok ? canCidr.reason : 'IPv4 or IPv6, such as 198.18.7.0/26'}
                  mono
                  readOnly={!canCidr.ok}
                />
                <Fixes
                  corrected={form.errorOf('cidr') === undefined ? null : correctedOf(draft)}
                  stands={toExclude(said)}
                  related={failure instanceof CallError ? failure.related : null}
                  onCorrect={(cidr) => {
                    form.set({ cidr })
                    form.focus('cidr')
                  }}
                  onExclude={(address) => {
                    form.set({ exclude: withExclusion(draft.exclude, address) })
                    form.focus('exclude')
                  }}
                />
              </div>
              <Text
                name="gateway"
                label="Gateway"
                optional
                hint="The router's address in the subnet; never assigned to a Service"
                mono
              />
              <Text
                name="vlan_id"
                label="VLAN ID"
                optional
                hint="1 to 4094; leave empty if untagged"
                inputMode="numeric"
                className="num"
              />
              <Choose
                name="purpose"
                label="Purpose"
                hint={canPurpose.ok ? purposeHints[draft.purpose] : canPurpose.reason}
                options={purposes}
                disabled={!canPurpose.ok}
              />
              <Area
                name="exclude"
                label="Exclude IPs"
                optional
                fieldClass={css['wide']}
                hint="One per line or separated by commas: an address, a CIDR, or a range such as 198.18.7.2-198.18.7.9"
                mono
              />
              <div className={css['wide']}>
                <Check name="first_and_last" label="Use first and last address" />
                <p className="t3 fs12">
                  For a routed range that is not on a link: it has no network or broadcast address.
                </p>
              </div>
            </div>
            <div className={css['buttons']}>
              <ActionButton
                label="Discard"
                kind="ghost"
                can={dirty ? yes : no('Nothing was changed')}
                run={kept.discard}
              />
              <AsCommand
                complete={form.read.ok}
                cli={commandOf(draft, code, subnet)}
                api={curlOf(
                  subnet === null ? subnetCreate : subnetUpdate,
                  { id: subnet?.id ?? '' },
                  change,
                  {
                    version: subnet?.version,
                  },
                )}
              />
              <span className="grow" />
              <Button
                kind="primary"
                type="submit"
                busy={form.busy}
                busyText="Saving"
                can={
                  subnet === null
                    ? allowed(subnetCreate)
                    : all(allowed(subnetUpdate), dirty ? yes : no('Nothing was changed'))
                }
              >
                {subnet === null ? 'Add subnet' : 'Save subnet'}
              </Button>
            </div>
          </Form>
        </Panel>
        <SpacePanel draft={draft} />
      </div>
    </>
  )
}

interface FixesProps {
  corrected: string | null
  /** Address of a server that is inside the subnet and must be excluded, or null. */
  stands: string | null
  related: Related | null
  onCorrect: (cidr: string) => void
  onExclude: (address: string) => void
}

/** Buttons that fix an error, or links to the cause of the error. */
function Fixes({ corrected, stands, related, onCorrect, onExclude }: FixesProps) {
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
