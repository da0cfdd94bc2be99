import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useCallback, useEffect, useId, useMemo, useRef, useState } from 'react'
import { type Image, imageCreate, imageFactoryGet, imageList } from '#contract/images.ts'
import { type JoinToken, joinTokenCreate } from '#contract/join-tokens.ts'
import { call, CallError } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/commands.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { ErrorState, SkeletonRows } from '../../ui/feedback/States.tsx'
import { Problem } from '../../ui/feedback/Status.tsx'
import { useAct } from '../../ui/feedback/use-act.ts'
import { VersionNotices } from '../../ui/feedback/VersionNotices.tsx'
import { EarlierImages } from './EarlierImages.tsx'
import { FactoryNotice } from './FactoryNotice.tsx'
import { argsOf, atFields, blank, draftOf, type Field as FieldName, madeFor, readDraft, withToken } from './image-form.ts'
import { datacentersQuery, factoryQuery, imageQuery, tokensQuery, versionsQuery } from './image-queries.ts'
import { ImageFields } from './ImageFields.tsx'
import { ImageResult } from './ImageResult.tsx'
import css from './PrepareImage.module.css'
import { Summary } from './Summary.tsx'
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
  const { data: offered } = useQuery(versionsQuery)
  const { data: tokens } = useQuery(tokensQuery)
  const { data: datacenters } = useQuery(datacentersQuery)
  const [touched, setTouched] = useState<ReadonlySet<FieldName>>(new Set())
  const [refused, setRefused] = useState<Partial<Record<FieldName, string>>>({})
  const { busy, problem, setProblem, act } = useAct()
  const [making, setMaking] = useState({ open: false, turn: 0 })
  const form = useRef<HTMLFormElement>(null)
  const formId = useId()
  const result = useRef<HTMLDivElement>(null)
  const { data: image, error: lost } = useQuery({ ...imageQuery(search['image'] ?? ''), enabled: search['image'] !== undefined })

  // What was made is led to: on a narrow screen it stands below all that was filled in.
  const made = useRef<string | null>(null)
  useEffect(() => {
    if (made.current === null || image?.id !== made.current) return
    made.current = null
    result.current?.focus({ preventScroll: true })
    result.current?.scrollIntoView({ block: 'start' })
  }, [image])

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
    [change, setProblem],
  )

  // A link from the list of join tokens says which one to begin with; it is taken once, and then off the address.
  const taken = useRef<string | undefined>(undefined)
  const wanted = tokens?.items.find((t) => t.id === search['token'])
  const isRead = draft !== null
  useEffect(() => {
    if (wanted === undefined || !isRead || taken.current === wanted.id) return
    taken.current = wanted.id
    change({ token: wanted.id, datacenter: wanted.datacenter?.id ?? '' })
    onSearch({ token: undefined })
  }, [wanted, isRead, change, onSearch])

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
    const { body } = read
    const prepare = async () => {
      const answer = await call(imageCreate, { body }, { key: attempt })
      client.setQueryData(imageQuery(answer.id).queryKey, answer)
      void invalidate(client, imageList, imageFactoryGet)
      // Another press makes another image, even of the same settings.
      change({})
      made.current = answer.id
      onSearch({ image: answer.id, page: undefined })
    }
    await act(prepare, (error) => {
      const fields = error instanceof CallError ? atFields(error.fields, now.kernelArgs) : {}
      setRefused(fields)
      return Object.keys(fields).length > 0
    })
  }

  if (draft === null) return <SkeletonRows rows={6} />
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
      {/* Whether the factory answers is said above. */}
      {offered !== undefined && <VersionNotices versions={{ ...offered, reason: null }} />}
      <div className={css['cols']}>
        <form ref={form} id={formId} className={css['form']} onSubmit={(event) => void generate(event)} noValidate>
          <ImageFields
            offered={offered?.items ?? []}
            draft={now}
            set={set}
            version={version}
            versions={versions}
            known={known}
            errorOf={errorOf}
            onLeft={left}
            onCreateToken={() => setMaking((was) => ({ open: true, turn: was.turn + 1 }))}
          />
        </form>
        <div className={css['right']}>
          <Panel title="Image">
            <Summary draft={now} version={version} site={named.site} token={named.token} />
            <div className={css['foot']}>
              <Problem text={problem} />
              <div className="row wrap">
                <Button kind="primary" type="submit" form={formId} busy={busy} busyText="Loading" can={allowed(imageCreate)}>
                  Generate
                </Button>
                <AsCommand
                  complete={read.ok}
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
                  api={curlOf(imageCreate, {}, read.ok ? read.body : {}, { origin: location.origin })}
                />
                <Button
                  kind="ghost"
                  className="right"
                  onClick={() => {
                    void discard()
                    setTouched(new Set())
                    setRefused({})
                    setProblem(null)
                  }}
                >
                  Start over
                </Button>
              </div>
            </div>
          </Panel>
          {search['image'] !== undefined && (
            <div ref={result} className={css['made']} tabIndex={-1} aria-label="Generated image" role="region">
              <Panel title="Generated" note={image === undefined ? undefined : madeFor(image)}>
                {image !== undefined ? <ImageResult image={image} /> : lost === null ? <SkeletonRows rows={4} /> : <ErrorState error={lost} />}
              </Panel>
            </div>
          )}
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
