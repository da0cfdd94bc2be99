import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { no, yes } from '#contract/rule.ts'
import { serverList } from '#contract/servers/servers.ts'
import { clusterImport, clusterImportPreview, type Takeover } from '#contract/clusters/takeover.ts'
import { call, CallError } from '../../api/client.ts'
import { newKey } from '../../api/http.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { useGo } from '../../lib/use-search.ts'
import { both } from '../../ui/actions.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Field, Select, TextInput } from '../../ui/inputs/Field.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { ErrorState, SkeletonRows } from '../../ui/feedback/States.tsx'
import { Problem } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Found } from './Found.tsx'
import { ProofFields } from './ProofFields.tsx'
import { blank, type Body, type Fields, readForm, standsInTheWay, type Typed } from './takeover-form.ts'
import css from './Takeover.module.css'

export const takeoverSites = query(datacenterList, { query: { per_page: 1000, sort: 'code' } })

interface Looked {
  readonly body: Body
  readonly takeover: Takeover
}

/** A cluster that others made becomes one of ours: looked at first, then taken over as it was shown. What is typed here is kept nowhere. */
export function TakeoverPage() {
  const { data: sites, error, refetch } = useQuery(takeoverSites)
  if (error && !sites) return <ErrorState boxed error={error} onRetry={() => void refetch()} />
  if (!sites) return <SkeletonRows rows={6} />
  return <Form sites={sites.items} />
}

function Form({ sites }: { sites: readonly { id: string; code: string; city_name: string }[] }) {
  const client = useQueryClient()
  const go = useGo()
  const [typed, setTyped] = useState<Typed>({ ...blank, datacenterId: sites.length === 1 ? sites[0]!.id : '' })
  const [errors, setErrors] = useState<Fields>({})
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState<'look' | 'take' | null>(null)
  const [looked, setLooked] = useState<Looked | null>(null)
  const attempt = useRef(newKey())
  const form = useRef<HTMLFormElement>(null)
  const result = useRef<HTMLDivElement>(null)
  const read = readForm(typed)

  useEffect(() => {
    if (Object.keys(errors).length > 0) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [errors])
  useEffect(() => {
    if (looked !== null) result.current?.focus()
  }, [looked])

  const change = (part: Partial<Typed>, problems: Fields = {}) => {
    setTyped((now) => ({ ...now, ...part }))
    setErrors(problems)
    setProblem(null)
    setLooked(null)
    attempt.current = newKey()
  }
  const refused = (failure: unknown) => {
    const fields = failure instanceof CallError ? failure.fields : {}
    if (Object.keys(fields).length > 0) setErrors(fields)
    else setProblem(reasonOf(failure))
  }
  const look = async () => {
    if (busy !== null) return
    if (!read.ok) return setErrors(read.fields)
    setBusy('look')
    setProblem(null)
    setErrors({})
    try {
      setLooked({ body: read.body, takeover: await call(clusterImportPreview, { body: read.body }) })
    } catch (failure) {
      refused(failure)
    } finally {
      setBusy(null)
    }
  }
  const take = async ({ body, takeover }: Looked) => {
    if (busy !== null) return
    setBusy('take')
    setProblem(null)
    try {
      const { cluster } = await call(clusterImport, { body: { ...body, seen: takeover.seen } }, { key: attempt.current })
      await invalidate(client, clusterList, serverList)
      toast.success(`${cluster.name} was taken over`)
      await go(paths.cluster(cluster.id))
    } catch (failure) {
      refused(failure)
      // What was found is not what stands there any more.
      if (failure instanceof CallError && failure.status === 412) setLooked(null)
      attempt.current = newKey()
    } finally {
      setBusy(null)
    }
  }
  const site = sites.find((s) => s.id === typed.datacenterId)
  const file = typed.kind === 'secrets' ? 'secrets.yaml' : 'talosconfig'
  const inTheWay = looked && standsInTheWay(looked.takeover)

  return (
    <>
      <h1 className="sr">Import cluster</h1>
      <div className={css['cols']}>
        <Panel title="A cluster that runs already">
          <form
            ref={form}
            noValidate
            className="stack stack3"
            onSubmit={(event: FormEvent) => {
              event.preventDefault()
              void look()
            }}
          >
            <p className="fs13 t2">
              Made with talosctl or another tool. Its machines are only asked; nothing is sent to them, now or when it is taken over. What opens it is sealed
              once it is taken over, and kept nowhere before.
            </p>
            <ProofFields typed={typed} errors={errors} onChange={change} withKubeconfig />
            <Field
              label="Control planes"
              optional={typed.kind === 'talosconfig'}
              hint={typed.kind === 'talosconfig' ? 'Else the endpoints of the talosconfig' : 'The address of one is enough'}
              error={errors['addresses']}
            >
              <TextInput
                value={typed.addresses}
                onValue={(addresses) => change({ addresses })}
                mono
                autoComplete="off"
                spellCheck={false}
                placeholder="10.0.4.11"
              />
            </Field>
            <div className={css['fields']}>
              <Field label="Datacenter" error={errors['datacenter_id']}>
                <Select
                  value={typed.datacenterId}
                  placeholder="Choose a datacenter"
                  options={sites.map((s) => ({ value: s.id, text: s.code, more: s.city_name }))}
                  onValue={(datacenterId) => change({ datacenterId })}
                />
              </Field>
              <Field label="Name" optional hint="Else the cluster's own" error={errors['name']}>
                <TextInput value={typed.name} onValue={(name) => change({ name })} autoComplete="off" autoCapitalize="none" spellCheck={false} />
              </Field>
            </div>
            <Problem text={problem} />
            <div className={css['buttons']}>
              <Button
                type="submit"
                kind={looked === null ? 'primary' : 'plain'}
                busy={busy === 'look'}
                busyText="Asking its machines"
                can={allowed(clusterImportPreview)}
              >
                {looked === null ? 'Look at the cluster' : 'Look again'}
              </Button>
              <AsCommand
                complete={read.ok}
                cli={cliOf(['cluster', 'import'], {
                  [typed.kind]: file,
                  kubeconfig: typed.kind === 'talosconfig' && typed.kubeconfig !== '' ? 'kubeconfig' : null,
                  address: typed.addresses.split(/[\s,]+/).filter((a) => a !== ''),
                  datacenter: site?.code,
                  name: typed.name === '' ? null : typed.name,
                })}
                api={`jq -n --rawfile file ${file} '{${typed.kind}: $file, addresses: ${JSON.stringify(read.ok ? read.body.addresses : [])}, datacenter_id: "${typed.datacenterId}"}' |\n${curlOf(clusterImportPreview, {}, undefined, { origin: location.origin })} \\\n  -H 'Content-Type: application/json' \\\n  -d @-`}
              />
            </div>
          </form>
        </Panel>
        <div ref={result} tabIndex={-1} className={css['result']} aria-live="polite">
          {looked === null ? (
            <Panel title="What is found">
              {busy === 'look' ? (
                <SkeletonRows rows={5} />
              ) : (
                <p className="fs13 t2">Look at the cluster first: its machines, its versions, and who of them is known here are shown in this place.</p>
              )}
            </Panel>
          ) : (
            <Found takeover={looked.takeover}>
              <Button
                kind="primary"
                busy={busy === 'take'}
                busyText="Taking over"
                can={both(allowed(clusterImport), inTheWay === null ? yes : no(inTheWay))}
                onClick={() => void take(looked)}
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
