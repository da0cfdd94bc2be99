import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { architectures, type Image, imageCreate, imageFormats, imageList } from '#contract/images.ts'
import { type JoinToken, joinTokenCreate } from '#contract/join-tokens.ts'
import { call, CallError } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/commands.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { AsCommand } from '../../ui/AsCommand.tsx'
import { Button, Segmented } from '../../ui/Button.tsx'
import { cx } from '../../ui/cx.ts'
import { Field, Select, Switch, TextArea } from '../../ui/Field.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { ErrorState, SkeletonRows } from '../../ui/States.tsx'
import { Alert } from '../../ui/Status.tsx'
import { EarlierImages } from './EarlierImages.tsx'
import { ExtensionPicker } from './ExtensionPicker.tsx'
import { FactoryNotice } from './FactoryNotice.tsx'
import { argsOf, atFields, blank, draftOf, type Field as FieldName, formatHints, formatNames, readDraft, withDatacenter, withToken } from './image-form.ts'
import { datacentersQuery, factoryQuery, imageQuery, tokensQuery } from './image-queries.ts'
import { ImageResult } from './ImageResult.tsx'
import css from './PrepareImage.module.css'
import { Summary } from './Summary.tsx'
import { TokenField } from './TokenField.tsx'
import { useImageDraft } from './use-image-draft.ts'

export type ImageSearch = Readonly<Record<string, string | undefined>>

/** The form of a new join token, which is a feature of its own: the route knows both. */
export type NewToken = (props: { open: boolean; onClose: () => void; onMade: (token: JoinToken) => void; datacenter: string }) => ReactNode

const order: readonly FieldName[] = ['version', 'extensions', 'kernelArgs', 'datacenter', 'token']

/** What servers will boot: chosen on the left, made and shown on the right, what was made before below. */
export function PrepareImage({
  search,
  onSearch,
  newToken,
}: {
  search: ImageSearch
  onSearch: (change: Record<string, string | undefined>) => void
  newToken: NewToken
}) {
  const client = useQueryClient()
  const { draft, change, discard, attempt } = useImageDraft()
  const { data: factory, error: unknown, refetch } = useQuery(factoryQuery)
  const { data: tokens } = useQuery(tokensQuery)
  const { data: datacenters } = useQuery(datacentersQuery)
  const [touched, setTouched] = useState<ReadonlySet<FieldName>>(new Set())
  const [refused, setRefused] = useState<Partial<Record<FieldName, string>>>({})
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const [making, setMaking] = useState({ open: false, turn: 0 })
  const form = useRef<HTMLFormElement>(null)
  const result = useRef<HTMLDivElement>(null)
  const { data: image, error: lost } = useQuery({ ...imageQuery(search['image'] ?? ''), enabled: search['image'] !== undefined })

  const now = draft ?? blank
  const newest = factory?.versions[0]
  const version = now.version === '' ? (newest ?? '') : now.version
  const known = { newest, tokens: tokens?.items ?? [], datacenters: datacenters?.items ?? [] }
  const read = readDraft(now, known)
  const set = useCallback(
    (patch: Parameters<typeof change>[0]) => {
      setRefused({})
      setProblem(null)
      change(patch)
    },
    [change],
  )

  // A link from the list of join tokens says which one to begin with.
  const wanted = search['token']
  const wantedToken = tokens?.items.find((t) => t.id === wanted)
  useEffect(() => {
    if (wantedToken === undefined || draft === null) return
    change({ token: wantedToken.id, datacenter: wantedToken.datacenter?.id ?? '' })
    onSearch({ token: undefined })
  }, [wantedToken, draft, change, onSearch])

  const useAgain = useCallback(
    (earlier: Image) => {
      set(draftOf(earlier))
      form.current?.scrollIntoView({ block: 'start' })
      form.current?.querySelector<HTMLElement>('select')?.focus({ preventScroll: true })
    },
    [set],
  )
  useCommands(
    'Prepare image',
    useMemo(
      () => [
        {
          label: 'Create join token',
          icon: 'key' as const,
          can: allowed(joinTokenCreate),
          run: () => setMaking((was) => ({ open: true, turn: was.turn + 1 })),
        },
      ],
      [],
    ),
  )

  const errorOf = (field: FieldName) => refused[field] ?? (touched.has(field) && !read.ok ? read.fields[field] : undefined)
  const left = (field: FieldName) => setTouched((before) => new Set([...before, field]))

  async function generate(event: FormEvent) {
    event.preventDefault()
    if (busy) return
    if (!read.ok) {
      setTouched(new Set(order))
      const first = order.find((field) => read.fields[field] !== undefined)
      form.current?.querySelector<HTMLElement>(`[data-field="${first}"] :is(select, textarea, input)`)?.focus()
      return
    }
    setBusy(true)
    setProblem(null)
    try {
      const made = await call(imageCreate, { body: read.body }, { key: attempt })
      client.setQueryData(imageQuery(made.id).queryKey, made)
      void invalidate(client, imageList)
      // Another press makes another image, even of the same settings.
      change({})
      onSearch({ image: made.id, page: undefined })
      result.current?.focus()
    } catch (error) {
      const fields = error instanceof CallError ? atFields(error.fields, now.kernelArgs) : {}
      setRefused(fields)
      if (Object.keys(fields).length === 0) setProblem(error instanceof Error ? error.message : 'The image could not be prepared')
    } finally {
      setBusy(false)
    }
  }

  if (draft === null) return <SkeletonRows rows={6} />
  const body = read.ok ? read.body : null
  const named = {
    site: known.datacenters.find((d) => d.id === now.datacenter)?.code,
    token: known.tokens.find((t) => t.id === now.token)?.name,
  }
  const versions = [...new Set([...(factory?.versions ?? []), ...(now.version === '' ? [] : [now.version])])]
  return (
    <div className={css['page']}>
      <h1 className="sr">Talos OS image configuration</h1>
      {unknown !== null && factory === undefined && <ErrorState boxed error={unknown} onRetry={() => void refetch()} />}
      {factory !== undefined && <FactoryNotice factory={factory} onRetry={() => void refetch()} />}
      <div className={css['cols']}>
        <form ref={form} className={css['form']} onSubmit={(event) => void generate(event)} noValidate>
          <Panel title="Talos">
            <div className={css['fields']}>
              <div data-field="version">
                <Field label="Talos version" error={errorOf('version')} hint="Servers join clusters of the minor version that they boot, or a later one.">
                  <Select
                    value={version}
                    placeholder="Loading"
                    options={versions.map((v, i) => ({ value: v, text: v, ...(i === 0 && v === newest && { more: 'newest' }) }))}
                    onValue={(to) => set({ version: to === newest ? '' : to })}
                  />
                </Field>
              </div>
              <Choice label="Architecture">
                <Segmented
                  size="medium"
                  label="Architecture"
                  value={now.arch}
                  options={architectures.map((value) => ({ value, text: value }))}
                  onChange={(arch) => set({ arch })}
                />
              </Choice>
              <Choice label="File" hint={formatHints[now.format]}>
                <Segmented
                  size="medium"
                  label="File"
                  value={now.format}
                  options={imageFormats.map((value) => ({ value, text: formatNames[value] }))}
                  onChange={(format) => set({ format })}
                />
              </Choice>
              <Choice
                label="SecureBoot"
                hint={now.secureboot ? 'The machine boots only what is signed: enrol the keys at its first start.' : 'The machine boots it as it is.'}
              >
                <span className={css['switch']}>
                  <Switch checked={now.secureboot} onChange={(secureboot) => set({ secureboot })} label="SecureBoot" />
                </span>
              </Choice>
            </div>
          </Panel>
          <Panel title="Extensions" note={now.extensions.length === 0 ? 'none chosen' : `${now.extensions.length} chosen`}>
            <div data-field="extensions">
              <ExtensionPicker version={version} chosen={now.extensions} onChosen={(extensions) => set({ extensions })} error={errorOf('extensions')} />
            </div>
          </Panel>
          <Panel title="Kernel arguments">
            <div data-field="kernelArgs">
              <Field
                label="Extra kernel arguments"
                optional
                error={errorOf('kernelArgs')}
                hint={`One a line, such as console=ttyS0. A hyphen in front takes one of Talos's own off. ${argsOf(now.kernelArgs).length === 0 ? '' : `${argsOf(now.kernelArgs).length} written.`}`}
              >
                <TextArea
                  mono
                  rows={3}
                  value={now.kernelArgs}
                  onValue={(kernelArgs) => set({ kernelArgs })}
                  onBlur={() => left('kernelArgs')}
                  spellCheck={false}
                  autoCapitalize="none"
                />
              </Field>
            </div>
          </Panel>
          <Panel title="Joining">
            <div className={css['fields']}>
              <div data-field="datacenter">
                <Field label="Datacenter" error={errorOf('datacenter')} hint="Where the servers will stand.">
                  <Select
                    value={now.datacenter === '' ? 'none' : now.datacenter}
                    options={[{ value: 'none', text: 'None yet' }, ...known.datacenters.map((d) => ({ value: d.id, text: d.code, more: d.city_name }))]}
                    onValue={(id) => set(withDatacenter(now, id === 'none' ? '' : id, known.tokens))}
                  />
                </Field>
              </div>
              <div data-field="token">
                <TokenField
                  draft={now}
                  tokens={known.tokens}
                  error={errorOf('token')}
                  onChange={set}
                  onLeft={() => left('token')}
                  onCreate={() => setMaking((was) => ({ open: true, turn: was.turn + 1 }))}
                />
              </div>
            </div>
          </Panel>
          <div className={css['foot']}>
            {problem !== null && <Alert tone="danger">{problem}</Alert>}
            <div className="row wrap">
              <Button kind="primary" type="submit" busy={busy} busyText="Loading" can={allowed(imageCreate)}>
                Generate
              </Button>
              <AsCommand
                cli={cliOf(['image', 'create'], {
                  'talos-version': version,
                  arch: now.arch,
                  secureboot: now.secureboot,
                  extension: now.extensions.toSorted(),
                  'kernel-arg': argsOf(now.kernelArgs),
                  format: now.format,
                  datacenter: named.site,
                  token: named.token,
                })}
                api={curlOf(imageCreate, {}, body ?? {}, { origin: location.origin })}
              />
              <Button
                kind="ghost"
                className="right"
                onClick={() => {
                  discard()
                  setTouched(new Set())
                  setRefused({})
                  setProblem(null)
                }}
              >
                Start over
              </Button>
            </div>
          </div>
        </form>
        <div ref={result} className={css['result']} tabIndex={-1} aria-label="Image" role="region">
          <Panel title="Image" note={image === undefined ? undefined : image.talos_version}>
            {image !== undefined ? (
              <ImageResult image={image} />
            ) : search['image'] !== undefined && lost !== null ? (
              <ErrorState error={lost} />
            ) : search['image'] !== undefined ? (
              <SkeletonRows rows={4} />
            ) : (
              <Summary draft={now} version={version} site={named.site} token={named.token} />
            )}
          </Panel>
        </div>
      </div>
      <EarlierImages page={search['page']} onPage={(page) => onSearch({ page })} onUse={useAgain} />
      {making.turn > 0 && (
        <div key={making.turn}>
          {newToken({
            open: making.open,
            onClose: () => setMaking((was) => ({ ...was, open: false })),
            onMade: (token) => {
              // It can be chosen at once; the list is asked again behind.
              client.setQueryData(tokensQuery.queryKey, (page) => page && { ...page, items: [token, ...page.items], total: page.total + 1 })
              set(withToken(now, token.id, [token, ...known.tokens]))
            },
            datacenter: now.datacenter,
          })}
        </div>
      )}
    </div>
  )
}

/** Label and hint of a choice that is no single control. */
function Choice({ label, hint, children }: { label: string; hint?: string; children: ReactNode }) {
  return (
    <div className={css['choose']}>
      <span className={css['label']} aria-hidden="true">
        {label}
      </span>
      {children}
      {hint !== undefined && <p className={cx('fs12', 't3', css['hint'])}>{hint}</p>}
    </div>
  )
}
