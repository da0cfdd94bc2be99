import { useState } from 'react'
import type { Datacenter } from '#contract/datacenters.ts'
import type { versionList } from '#contract/clusters.ts'
import type { Answer } from '#contract/operation.ts'
import { counted } from '#contract/words.ts'
import { paths } from '../../lib/paths.ts'
import { ButtonLink, Segmented } from '../../ui/Button.tsx'
import { Field, Select, TextInput } from '../../ui/Field.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Alert } from '../../ui/Status.tsx'
import { versionShown } from './cluster-state.ts'
import type { Draft, Problems } from './create-draft.ts'
import css from './CreateCluster.module.css'

const endpointWords = {
  first: 'The address of the first control plane. The API falls with that server; choose a virtual IP for more than one control plane.',
  virtual: "An unused address of the servers' own network, which the control planes hold among themselves.",
  host: 'Of a load balancer or a DNS name of yours that leads to every control plane on port 6443.',
}

/** Name, place, versions, and how the cluster is reached. */
export function StepCluster({
  draft,
  change,
  problems,
  all,
  datacenters,
  versions,
}: {
  draft: Draft
  change: (patch: Partial<Draft>) => void
  problems: Problems
  /** Show every problem, not just those of fields that were left. */
  all: boolean
  datacenters: readonly Datacenter[]
  versions: Answer<typeof versionList>['items']
}) {
  const [left, setLeft] = useState<ReadonlySet<keyof Draft>>(new Set())
  const errorOf = (field: keyof Draft) => (all || left.has(field) ? problems[field] : undefined)
  const wire = (field: 'name' | 'vlan' | 'endpoint' | 'podCidr' | 'serviceCidr') => ({
    value: draft[field],
    onValue: (value: string) => change({ [field]: value }),
    onBlur: () => setLeft(new Set([...left, field])),
    autoComplete: 'off',
    spellCheck: false,
  })
  const pair = versions.find((v) => v.talos_version === draft.talos) ?? versions[0]
  const newest = (version: string, i: number) => (i === 0 ? `${versionShown(version)} (newest)` : versionShown(version))
  return (
    <div className={css['form']}>
      <Panel title="Cluster">
        <div className={css['fields']}>
          <Field label="Name" hint="Lowercase letters, digits and hyphens, up to 25" error={errorOf('name')}>
            <TextInput {...wire('name')} placeholder="poz-edge-01" />
          </Field>
          <Field label="Datacenter" error={errorOf('datacenterId')} hint={datacenters.length === 0 ? 'Add a datacenter first' : 'Its servers make the cluster'}>
            <Select
              value={draft.datacenterId}
              placeholder="Choose a datacenter"
              options={datacenters.map((d) => ({ value: d.id, text: `${d.code}, ${d.city_name}`, more: counted(d.servers, 'server') }))}
              onValue={(datacenterId) => change({ datacenterId, servers: datacenterId === draft.datacenterId ? draft.servers : {} })}
            />
          </Field>
          <Field label="Talos" error={errorOf('talos')}>
            <Select
              value={pair?.talos_version ?? ''}
              options={versions.map((v, i) => ({ value: v.talos_version, text: newest(v.talos_version, i) }))}
              onValue={(talos) => change({ talos, kubernetes: versions.find((v) => v.talos_version === talos)?.kubernetes_versions[0] ?? '' })}
            />
          </Field>
          <Field label="Kubernetes" error={errorOf('kubernetes')}>
            <Select
              value={draft.kubernetes || (pair?.kubernetes_versions[0] ?? '')}
              options={(pair?.kubernetes_versions ?? []).map((v, i) => ({ value: v, text: newest(v, i) }))}
              onValue={(kubernetes) => change({ kubernetes, talos: pair?.talos_version ?? '' })}
            />
          </Field>
        </div>
      </Panel>
      <Panel title="Network">
        <div className={css['fields']}>
          <div className={css['wide']}>
            <p className="fs13 strong">API endpoint</p>
            <div className={css['choice']}>
              <Segmented
                label="API endpoint"
                size="medium"
                value={draft.endpointKind}
                options={[
                  { value: 'first', text: 'Automatic' },
                  { value: 'virtual', text: 'Virtual IP' },
                  { value: 'host', text: 'Address or name' },
                ]}
                onChange={(endpointKind) => change({ endpointKind })}
              />
            </div>
            <p className="fs13 t2">{endpointWords[draft.endpointKind]}</p>
          </div>
          {draft.endpointKind !== 'first' && (
            <Field label={draft.endpointKind === 'virtual' ? 'Virtual IP' : 'Address or DNS name'} error={errorOf('endpoint')}>
              <TextInput {...wire('endpoint')} mono placeholder={draft.endpointKind === 'virtual' ? '10.20.14.10' : 'api.example.org'} />
            </Field>
          )}
          <Field label="Pod CIDR" error={errorOf('podCidr')}>
            <TextInput {...wire('podCidr')} mono />
          </Field>
          <Field label="Service CIDR" error={errorOf('serviceCidr')}>
            <TextInput {...wire('serviceCidr')} mono />
          </Field>
          <Field label="VLAN ID" optional hint="1 to 4094; none for untagged" error={errorOf('vlan')}>
            <TextInput {...wire('vlan')} inputMode="numeric" />
          </Field>
        </div>
      </Panel>
      {datacenters.length === 0 && (
        <Alert
          tone="warn"
          action={
            <ButtonLink size="small" href={paths.datacenters()}>
              Datacenters
            </ButtonLink>
          }
        >
          There is no datacenter yet. Add one, and servers to it, before you create a cluster.
        </Alert>
      )}
    </div>
  )
}
