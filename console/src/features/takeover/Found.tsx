import type { ReactNode } from 'react'
import type { ExistingObject, ReplaceableObject } from '#contract/clusters/existing.ts'
import type { Takeover, TakeoverServer } from '#contract/clusters/takeover.ts'
import { counted } from '#contract/words.ts'
import { paths } from '../../lib/paths.ts'
import { columns, DataTable } from '../../ui/table/DataTable.tsx'
import { Checkbox } from '../../ui/inputs/Choices.tsx'
import { Icon } from '../../ui/pictures/Icon.tsx'
import { KeyValue, Panel } from '../../ui/text/Panel.tsx'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import css from './Takeover.module.css'

const mono = (text: string) => <span className="mono">{text}</span>

const serverColumns = columns<TakeoverServer>([
  {
    id: 'name',
    head: 'Machine',
    card: 'name',
    cell: (s) => s.name,
  },
  {
    id: 'role',
    head: 'Role',
    width: 104,
    card: 'fact',
    cell: (s) =>
      s.role === null ? (
        <span className="t3">Unknown</span>
      ) : s.role === 'control_plane' ? (
        'Control plane'
      ) : (
        'Worker'
      ),
  },
  {
    id: 'address',
    head: 'Address',
    width: 124,
    card: 'fact',
    cell: (s) => <span className="mono">{s.address ?? '–'}</span>,
  },
  {
    id: 'here',
    head: 'In Steelyard',
    width: 176,
    card: 'state',
    cell: (s) =>
      s.problem !== null ? (
        <StatusDot tone="danger">Can't be taken over</StatusDot>
      ) : s.known ? (
        <a href={paths.server(s.known.id)}>
          {s.known.name === s.name ? 'Known server' : s.known.name}
        </a>
      ) : (
        <span className="t2">New</span>
      ),
  },
])

interface Choice {
  readonly replace: readonly ReplaceableObject[]
  readonly onReplace: (replace: readonly ReplaceableObject[]) => void
}

/** The objects that the cluster's Kubernetes has already. Each is kept unless it is ticked. */
function Existing({
  existing,
  replace,
  onReplace,
}: Choice & { existing: readonly ExistingObject[] }) {
  if (existing.length === 0) return null
  return (
    <section aria-label="Exists in its Kubernetes already" className="stack stack2">
      <h3 className="fs13 strong">Exists in its Kubernetes already</h3>
      <ul className={css['existing']}>
        {existing.map(({ object, name, message, replaceable }) => (
          <li key={name}>
            <div className="row wrap">
              <span className="mono fs13 grow">{name}</span>
              {replaceable && object !== 'bootstrap_token' ? (
                <Checkbox
                  label="Replace"
                  checked={replace.includes(object)}
                  onChange={(to) =>
                    onReplace(to ? [...replace, object] : replace.filter((one) => one !== object))
                  }
                />
              ) : (
                <span className="t3 fs13">Kept</span>
              )}
            </div>
            <p className="fs13 t2">{message}</p>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Shows what the survey found in a cluster that could be taken over. */
export function Found({
  takeover,
  replace,
  onReplace,
  children,
}: Choice & { takeover: Takeover; children: ReactNode }) {
  const {
    name,
    endpoint,
    virtual_ip,
    talos_version,
    kubernetes_version,
    pod_cidr,
    service_cidr,
    servers,
    checks,
    existing,
  } = takeover
  return (
    <Panel title={name} note={counted(servers.length, 'machine')}>
      <div className="stack stack3">
        <KeyValue
          rows={[
            ['Kubernetes API', mono(endpoint)],
            [
              'Endpoint',
              virtual_ip ? 'Virtual IP, held by the control planes' : 'Fixed address or name',
            ],
            ['Talos', talos_version],
            ['Kubernetes', `v${kubernetes_version}`],
            ['Pod CIDR', mono(pod_cidr)],
            ['Service CIDR', mono(service_cidr)],
          ]}
        />
        <DataTable
          label="Machines of the cluster"
          rows={servers}
          columns={serverColumns}
          rowKey={(s) => s.name}
          rowName={(s) => s.name}
          grows
          empty={<Empty title="No machines" />}
        />
        <ul className={css['checks']} aria-label="Checks">
          {servers.flatMap((s) =>
            s.problem === null ? (
              []
            ) : (
              <li key={s.name} className="c-danger">
                <Icon name="error" />
                <span>
                  {s.name}: {s.problem}
                </span>
              </li>
            ),
          )}
          {checks.map((c) => (
            <li
              key={`${c.check} ${c.message}`}
              className={c.ok ? (c.check === 'warning' ? 'c-warn' : undefined) : 'c-danger'}
            >
              <Icon
                name={
                  !c.ok
                    ? 'error'
                    : c.check === 'warning'
                      ? 'alert'
                      : c.check === 'adds'
                        ? 'info'
                        : 'check'
                }
              />
              <span>{c.message}</span>
            </li>
          ))}
        </ul>
        <Existing existing={existing} replace={replace} onReplace={onReplace} />
        <div className="row wrap">{children}</div>
      </div>
    </Panel>
  )
}
