import { useState } from 'react'
import type { Datacenter } from '#contract/datacenters.ts'
import type { Answer } from '#contract/operation.ts'
import { type Support, supportEnded, type versionList } from '#contract/versions.ts'
import { counted } from '#contract/words.ts'
import { versionShown } from '../../../lib/text.ts'
import { paths } from '../../../lib/paths.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Segmented } from '../../../ui/inputs/Segmented.tsx'
import { fieldsFor, Form } from '../../../ui/form/fields.tsx'
import type { Form as FormState } from '../../../ui/form/use-form.ts'
import { Field, TextInput } from '../../../ui/inputs/Field.tsx'
import { Select } from '../../../ui/inputs/Choices.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { VersionNotices } from '../../../ui/feedback/VersionNotices.tsx'
import type { Draft } from './draft.ts'
import css from './Steps.module.css'

/** Value of the choice that lets the user type a version. */
const otherVersion = 'other'

const endpointWords = {
  first:
    'The address of the first control plane. If that server fails, the API is unreachable; choose a virtual IP for more than one control plane.',
  virtual: "An unused address of the servers' own network, which the control planes share.",
  host: 'The address of a load balancer, or a DNS name, that leads to every control plane on port 6443.',
}

const { Text, Choose, Custom } = fieldsFor<Draft>()

interface StepClusterProps {
  form: FormState<Draft>
  datacenters: readonly Datacenter[]
  versions: Answer<typeof versionList>
}

/** Name, datacenter, versions and endpoint. */
export function StepCluster({ form, datacenters, versions }: StepClusterProps) {
  const { values: draft, set: change, read } = form
  const { items } = versions
  const pair = items.find((v) => v.talos_version === draft.talos) ?? items[0]
  const kubernetes = draft.kubernetes || (pair?.kubernetes_versions[0] ?? '')
  const [isTyped, setTyped] = useState(false)
  const isKnown = pair === undefined || pair.kubernetes_versions.includes(kubernetes)
  const option = (version: string, i: number, { ended }: Support) => ({
    value: version,
    text: i === 0 ? `${versionShown(version)} (newest)` : versionShown(version),
    ...(ended && { more: 'out of support' }),
  })
  const supportHint = (what: string, support: Support | undefined) => {
    const ended = support === undefined ? null : supportEnded(support)
    return ended === null ? undefined : `${what} is ${ended}`
  }
  const kubernetesSupport = pair?.kubernetes.find((k) => k.version === kubernetes)?.support
  return (
    <Form form={form} className={css['form']}>
      <Panel
        title="Cluster"
        actions={
          draft.from === '' && (
            <ActionButton label="Start from a template" size="small" to={paths.templates()} />
          )
        }
      >
        <div className={css['fields']}>
          <Text
            name="name"
            label="Name"
            hint="Lowercase letters, digits and hyphens, up to 25"
            placeholder="poz-edge-01"
          />
          <Choose
            name="datacenterId"
            label="Datacenter"
            hint={
              datacenters.length === 0
                ? 'Add a datacenter first'
                : 'The servers of the cluster are in this datacenter'
            }
            placeholder="Choose a datacenter"
            options={datacenters.map((d) => ({
              value: d.id,
              text: `${d.code}, ${d.city_name}`,
              more: counted(d.servers, 'server'),
            }))}
            onValue={(datacenterId) =>
              change({
                datacenterId,
                servers: datacenterId === draft.datacenterId ? draft.servers : {},
              })
            }
          />
          <Custom
            name="talos"
            label="Talos"
            hint={supportHint('This Talos version', pair?.support)}
          >
            <Select
              value={pair?.talos_version ?? ''}
              options={items.map((v, i) => option(v.talos_version, i, v.support))}
              onValue={(talos) => {
                setTyped(false)
                change({
                  talos,
                  kubernetes:
                    items.find((v) => v.talos_version === talos)?.kubernetes_versions[0] ?? '',
                })
              }}
            />
          </Custom>
          <Field
            label="Kubernetes"
            error={isTyped || !isKnown ? undefined : form.errorOf('kubernetes')}
            hint={
              isTyped || !isKnown
                ? undefined
                : supportHint('This Kubernetes version', kubernetesSupport)
            }
          >
            <Select
              value={isTyped || !isKnown ? otherVersion : kubernetes}
              options={[
                ...(pair?.kubernetes ?? []).map(({ version, support }, i) =>
                  option(version, i, support),
                ),
                { value: otherVersion, text: 'Another patch release' },
              ]}
              onValue={(chosen) => {
                setTyped(chosen === otherVersion)
                change({
                  kubernetes: chosen === otherVersion ? kubernetes : chosen,
                  talos: pair?.talos_version ?? '',
                })
              }}
            />
          </Field>
          {(isTyped || !isKnown) && pair !== undefined && (
            <Field
              label="Kubernetes version"
              hint={`Any patch release of ${pair.kubernetes_minors[0]} to ${pair.kubernetes_minors[1]}, such as ${pair.kubernetes_versions[0]}`}
              error={read.ok ? undefined : read.fields['kubernetes']}
            >
              <TextInput
                mono
                value={kubernetes}
                onValue={(typed) =>
                  change({ kubernetes: typed.replace(/^v/, ''), talos: pair.talos_version })
                }
                autoComplete="off"
                spellCheck={false}
              />
            </Field>
          )}
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
            <Text
              name="endpoint"
              label={draft.endpointKind === 'virtual' ? 'Virtual IP' : 'Address or DNS name'}
              mono
              placeholder={draft.endpointKind === 'virtual' ? '10.20.14.10' : 'api.example.org'}
            />
          )}
          <Text name="podCidr" label="Pod CIDR" mono />
          <Text name="serviceCidr" label="Service CIDR" mono />
          <Text
            name="vlan"
            label="VLAN ID"
            optional
            hint="1 to 4094; leave empty if untagged"
            inputMode="numeric"
          />
        </div>
      </Panel>
      <VersionNotices versions={versions} />
      {datacenters.length === 0 && (
        <Alert
          tone="warn"
          action={<ActionButton label="Datacenters" size="small" to={paths.datacenters()} />}
        >
          There is no datacenter yet. Add a datacenter and its servers before you create a cluster.
        </Alert>
      )}
    </Form>
  )
}
