import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { clusterList } from '#contract/clusters/clusters.ts'
import type { ReplaceableObject } from '#contract/clusters/existing.ts'
import { no, yes } from '#contract/rule.ts'
import { serverList } from '#contract/servers/servers.ts'
import { clusterImport, clusterImportPreview, type Takeover } from '#contract/clusters/takeover.ts'
import { everyDatacenter } from '../../api/every.ts'
import { isStale } from '../../api/asking/fresh-version.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { cliOf } from '../../lib/shell.ts'
import { navigate } from '../../lib/router.ts'
import { both, confirm } from '../../ui/actions.ts'
import { fieldsFor, Form } from '../../ui/form/fields.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { SkeletonRows } from '../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Found } from './Found.tsx'
import { ProofFields } from './ProofFields.tsx'
import {
  blank,
  type Body,
  previewCommand,
  readForm,
  replacedSentence,
  replacing,
  standsInTheWay,
  type Typed,
} from './takeover-form.ts'
import css from './Takeover.module.css'

/**
 * Takes over a cluster that was made without Steelyard. A survey first shows what would be taken
 * over. Nothing typed here is stored in the browser.
 */
export function TakeoverPage() {
  const sites = useQuery(everyDatacenter)
  return sites.data ? <TakeoverForm sites={sites.data.items} /> : <Pending of={sites} rows={6} />
}

const { Text, Choose } = fieldsFor<Typed>()

function TakeoverForm({
  sites,
}: {
  sites: readonly { id: string; code: string; city_name: string }[]
}) {
  const [last, setLast] = useState<{ body: Body; takeover: Takeover } | null>(null)
  const [replace, setReplace] = useState<readonly ReplaceableObject[]>([])
  const result = useRef<HTMLDivElement>(null)
  const form = useForm({
    initial: { ...blank, datacenter_id: sites.length === 1 ? sites[0]!.id : '' },
    read: readForm,
    send: (body, key) => call(clusterImportPreview, { body }, { key }),
    done: (takeover, body) => {
      taking.reset()
      setReplace([])
      setLast({ body, takeover })
    },
  })
  // The findings are valid only for the same input.
  const looked =
    last !== null && form.read.ok && JSON.stringify(form.read.body) === JSON.stringify(last.body)
      ? last
      : null
  const taking = useForm({
    initial: {},
    read: () =>
      looked === null
        ? { ok: false, fields: {} }
        : {
            ok: true,
            body: {
              ...looked.body,
              seen: looked.takeover.seen,
              ...replacing(looked.takeover, replace),
            },
          },
    send: (body, key) => call(clusterImport, { body }, { key }),
    done: async ({ cluster }) => {
      await invalidate(clusterList, serverList)
      toast.success(`${cluster.name} was taken over`)
      await navigate(paths.cluster(cluster.id))
    },
    // 412: the cluster has changed since the survey.
    failed: (failure) => isStale(failure) && setLast(null),
  })
  const { values: typed, read, busy } = form
  useEffect(() => {
    if (looked !== null) result.current?.focus()
  }, [looked])
  const site = sites.find((s) => s.id === typed.datacenter_id)
  const file = typed.kind === 'secrets' ? 'secrets.yaml' : 'talosconfig'
  const takeOver = async (name: string): Promise<void> => {
    const isSure =
      replace.length === 0 ||
      (await confirm({
        title: `Replace objects of ${name}?`,
        label: 'Replace and take over',
        text: replacedSentence(replace),
        danger: true,
        typed: name,
      }))
    if (isSure) await taking.submit()
  }
  const inTheWay = looked && standsInTheWay(looked.takeover)

  return (
    <>
      <h1 className="sr">Import cluster</h1>
      <div className={css['cols']}>
        <Panel title="A cluster that runs already">
          <Form form={form} className="stack stack3">
            <p className="fs13 t2">
              A cluster made with talosctl or another tool. Steelyard only reads from its machines
              and sends nothing to them, now or during the takeover. The secrets are stored,
              encrypted, only when you take the cluster over.
            </p>
            <ProofFields form={form} withKubeconfig />
            <Text
              name="addresses"
              label="Control planes"
              optional={typed.kind === 'talosconfig'}
              hint={
                typed.kind === 'talosconfig'
                  ? 'Default: the endpoints of the talosconfig'
                  : 'The address of one control plane is enough'
              }
              mono
              placeholder="10.0.4.11"
            />
            <div className={css['fields']}>
              <Choose
                name="datacenter_id"
                label="Datacenter"
                placeholder="Choose a datacenter"
                options={sites.map((s) => ({ value: s.id, text: s.code, more: s.city_name }))}
              />
              <Text
                name="name"
                label="Name"
                optional
                hint="Default: the cluster's own name"
                autoCapitalize="none"
              />
            </div>
            {sites.length === 0 && (
              <Alert tone="info">
                There is no datacenter yet. <a href={paths.datacenters()}>Add the datacenter</a> of
                the machines first.
              </Alert>
            )}
            <Problem text={form.problem ?? taking.problem} />
            <div className="row wrap">
              <Button
                type="submit"
                kind={looked === null ? 'primary' : 'plain'}
                busy={busy}
                busyText="Querying the machines"
                can={allowed(clusterImportPreview)}
              >
                {looked === null ? 'Look at the cluster' : 'Look again'}
              </Button>
              <AsCommand
                complete={read.ok}
                cli={cliOf(['cluster', 'import'], {
                  [typed.kind]: file,
                  kubeconfig:
                    typed.kind === 'talosconfig' && typed.kubeconfig !== '' ? 'kubeconfig' : null,
                  address: typed.addresses.split(/[\s,]+/).filter((a) => a !== ''),
                  datacenter: site?.code,
                  name: typed.name === '' ? null : typed.name,
                })}
                api={read.ok ? previewCommand(read.body) : ''}
              />
            </div>
          </Form>
        </Panel>
        <div ref={result} tabIndex={-1} className={css['result']} aria-live="polite">
          {looked === null ? (
            <Panel title="What is found">
              {busy ? (
                <SkeletonRows rows={5} />
              ) : (
                <p className="fs13 t2">
                  Look at the cluster first. Its machines and versions, and which machines Steelyard
                  already knows, appear here.
                </p>
              )}
            </Panel>
          ) : (
            <Found takeover={looked.takeover} replace={replace} onReplace={setReplace}>
              <Button
                kind="primary"
                busy={taking.busy}
                busyText="Taking over"
                can={both(allowed(clusterImport), inTheWay === null ? yes : no(inTheWay))}
                onClick={() => void takeOver(looked.takeover.name)}
              >
                Take over {looked.takeover.name}
              </Button>
            </Found>
          )}
        </div>
      </div>
    </>
  )
}
