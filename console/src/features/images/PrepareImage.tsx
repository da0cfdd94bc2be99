import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import type * as z from 'zod/mini'
import {
  type Image,
  type ImageFactory,
  imageCreate,
  imageFactoryGet,
  imageList,
} from '#contract/images.ts'
import { joinTokenCreate } from '#contract/join-tokens.ts'
import { everyDatacenter } from '../../api/every.ts'
import { call } from '../../api/client.ts'
import { invalidate, queryClient } from '../../api/query.ts'
import { useDraft } from '../../api/use-draft.ts'
import type { PageProps } from '../../api/page.ts'
import { allowed } from '../../api/session.ts'
import { useCommands } from '../../layout/search/commands.ts'
import { createJoinToken } from '../../layout/modals.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { Form } from '../../ui/form/fields.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { KeyValue, Panel } from '../../ui/text/Panel.tsx'
import { ErrorState, SkeletonRows } from '../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../ui/feedback/Status.tsx'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { VersionNotices } from '../../ui/feedback/VersionNotices.tsx'
import { EarlierImages } from './EarlierImages.tsx'
import {
  argsOf,
  atFields,
  blank,
  Draft,
  draftOf,
  formatNames,
  madeFor,
  noToken,
  readDraft,
  withToken,
} from './image-form.ts'
import { earlyOptions, reachNames } from './early-form.ts'
import { factoryQuery, imageQuery, tokensQuery, versionsQuery } from './image-queries.ts'
import { ImageFields } from './ImageFields.tsx'
import { ImageResult, simulatedSentence } from './ImageResult.tsx'
import { shortName } from '../../layout/extensions/extensions.ts'
import css from './PrepareImage.module.css'

/** Prepares an image: the form on the left, the result on the right, earlier images below. */
export function PrepareImage({
  search,
  setSearch: onSearch,
}: Pick<PageProps<'/infra/servers/prepare-image'>, 'search' | 'setSearch'>) {
  const { data: factory, error: unknown, refetch } = useQuery(factoryQuery)
  const { data: offered } = useQuery(versionsQuery)
  const choices = { tokens: useQuery(tokensQuery), datacenters: useQuery(everyDatacenter) }
  const tokens = choices.tokens.data
  const result = useRef<HTMLDivElement>(null)
  const { data: image, error: lost } = useQuery({
    ...imageQuery(search.image ?? ''),
    enabled: search.image !== undefined,
  })

  // Scrolls to the result, which is below the form on a narrow screen.
  const made = useRef<string | null>(null)
  useEffect(() => {
    if (made.current === null || image?.id !== made.current) return
    made.current = null
    result.current?.focus({ preventScroll: true })
    result.current?.scrollIntoView({ block: 'start' })
  }, [image])

  const newest = factory?.versions[0]
  const known = {
    newest,
    tokens: tokens?.items ?? [],
    datacenters: choices.datacenters.data?.items ?? [],
  }
  const form = useForm({
    initial: blank,
    read: (typed) =>
      readDraft(typed, {
        newest,
        tokens: tokens?.items,
        datacenters: choices.datacenters.data?.items,
      }),
    send: (body, key) => call(imageCreate, { body }, { key }),
    done: (answer) => {
      queryClient.setQueryData(imageQuery(answer.id).queryKey, answer)
      void invalidate(imageList, imageFactoryGet)
      made.current = answer.id
      onSearch({ image: answer.id, page: undefined })
    },
    at: (fields, typed) => atFields(fields, typed.kernelArgs),
  })
  const kept = useDraft(form, 'image/new', Draft)
  const { values: now, read, set, element } = form
  const version = now.version === '' ? (newest ?? '') : now.version
  const createToken = () =>
    createJoinToken({
      datacenter: now.datacenter,
      onMade: (token) => {
        // Makes the token selectable at once; the list is refetched in the background.
        queryClient.setQueryData(
          tokensQuery.queryKey,
          (page) => page && { ...page, items: [token, ...page.items], total: page.total + 1 },
        )
        set((typed) => withToken(typed, token.id, [token, ...known.tokens]))
      },
    })

  // A link from the list of join tokens preselects a token. The preselection is applied once and
  // removed from the URL.
  const taken = useRef<string | undefined>(undefined)
  const wanted = tokens?.items.find((t) => t.id === search.token)
  const isRead = kept.ready
  useEffect(() => {
    if (wanted === undefined || !isRead || taken.current === wanted.id) return
    taken.current = wanted.id
    set({ token: wanted.id, datacenter: wanted.datacenter?.id ?? '' })
    onSearch({ token: undefined })
  }, [wanted, isRead, set, onSearch])

  const useAgain = useCallback(
    (earlier: Image) => {
      set(draftOf(earlier))
      element.current?.scrollIntoView({ block: 'start' })
      element.current?.querySelector<HTMLElement>('select')?.focus({ preventScroll: true })
    },
    [set, element],
  )
  const create = useRef(createToken)
  useEffect(() => {
    create.current = createToken
  })
  useCommands(
    'Prepare image',
    useMemo(
      () => [
        {
          label: 'Create join token',
          icon: 'key' as const,
          can: allowed(joinTokenCreate),
          run: () => create.current(),
        },
      ],
      [],
    ),
  )

  if (!kept.ready) return <SkeletonRows rows={6} />
  const named = {
    site: known.datacenters.find((d) => d.id === now.datacenter)?.code,
    token: known.tokens.find((t) => t.id === now.token)?.name,
  }
  const versions = [
    ...new Set([...(factory?.versions ?? []), ...(now.version === '' ? [] : [now.version])]),
  ]
  return (
    <div className={css['page']}>
      <h1 className="sr">Talos OS image configuration</h1>
      {unknown !== null && factory === undefined && (
        <ErrorState boxed error={unknown} onRetry={() => void refetch()} />
      )}
      {factory !== undefined && <FactoryNotice factory={factory} onRetry={() => void refetch()} />}
      {/* Without `reason`: the notice above already says whether the factory responds. */}
      <Unread what="The join tokens" of={choices.tokens} />
      <Unread what="The datacenters" of={choices.datacenters} />
      {offered !== undefined && <VersionNotices versions={{ ...offered, reason: null }} />}
      <div className={css['cols']}>
        <Form form={form} className={css['form']}>
          <ImageFields
            offered={offered?.items ?? []}
            form={form}
            version={version}
            versions={versions}
            known={known}
            factory={factory?.url}
            onCreateToken={() => void createToken()}
          />
        </Form>
        <div className={css['right']}>
          <Panel title="Image">
            <Summary draft={now} version={version} site={named.site} token={named.token} />
            <div className={css['foot']}>
              <Problem text={form.problem} />
              <div className="row wrap">
                <Button
                  kind="primary"
                  type="submit"
                  form={form.id}
                  busy={form.busy}
                  busyText="Loading"
                  can={allowed(imageCreate)}
                >
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
                    ...earlyOptions(now),
                    format: now.format,
                    datacenter: named.site,
                    token: named.token,
                  })}
                  api={curlOf(imageCreate, {}, read.ok ? read.body : {})}
                />
                <ActionButton
                  label="Start over"
                  kind="ghost"
                  className="right"
                  run={kept.discard}
                />
              </div>
            </div>
          </Panel>
          {search.image !== undefined && (
            <div
              ref={result}
              className={css['made']}
              tabIndex={-1}
              aria-label="Generated image"
              role="region"
            >
              <Panel title="Generated" note={image === undefined ? undefined : madeFor(image)}>
                {image !== undefined ? (
                  <ImageResult image={image} />
                ) : lost === null ? (
                  <SkeletonRows rows={4} />
                ) : (
                  <ErrorState error={lost} />
                )}
              </Panel>
            </div>
          )}
        </div>
      </div>
      <EarlierImages page={search.page} onPage={(page) => onSearch({ page })} onUse={useAgain} />
    </div>
  )
}

/** Describes the image before it is created. */
function Summary({
  draft,
  version,
  site,
  token,
}: {
  draft: Draft
  version: string
  site: string | undefined
  token: string | undefined
}) {
  const args = argsOf(draft.kernelArgs)
  return (
    <div className="stack">
      <KeyValue
        rows={[
          ['Talos', `${version}, ${draft.arch}${draft.secureboot ? ', SecureBoot' : ''}`],
          ['File', formatNames[draft.format]],
          [
            'Extensions',
            draft.extensions.length === 0 ? (
              <span className="t3">None</span>
            ) : (
              draft.extensions.map(shortName).join(', ')
            ),
          ],
          [
            'Kernel arguments',
            args.length === 0 ? (
              <span className="t3">Talos's defaults</span>
            ) : (
              <span className="mono">{args.join(' ')}</span>
            ),
          ],
          ['Network', reachNames[draft.reach]],
          ['Datacenter', site ?? <span className="t3">None yet</span>],
          [
            'Join token',
            token ?? (
              <span className="t3">
                {draft.token === noToken
                  ? 'None'
                  : draft.token === ''
                    ? 'Not chosen yet'
                    : 'Chosen, its name is not loaded'}
              </span>
            ),
          ],
        ]}
      />
      <p className="fs13 t2">
        Generate makes the schematic and its id, registers it with the image factory and shows the
        links for every format, the PXE script and the kernel command line.
      </p>
    </div>
  )
}

/** Says that the image factory is simulated, or that it does not respond. */
function FactoryNotice({
  factory,
  onRetry,
}: {
  factory: z.output<typeof ImageFactory>
  onRetry: () => void
}) {
  return (
    <>
      {factory.simulated && (
        <Alert tone="warn">
          {simulatedSentence}. They are made by the simulator at{' '}
          <span className="mono">{factory.url}</span>.
        </Alert>
      )}
      {!factory.reachable && (
        <Alert tone="danger" action={<ActionButton label="Try again" size="small" run={onRetry} />}>
          <b>
            The image factory at <span className="mono">{factory.url}</span> does not answer.
          </b>{' '}
          {factory.reason === null ? '' : `${factory.reason}.`} You can continue: schematic and id
          are made here and kept, and the links work after the factory has confirmed them.
        </Alert>
      )}
    </>
  )
}
