import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback, useMemo } from 'react'
import { type Image, imageCreate, imageList, imageRemove } from '#contract/images.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { truncate } from '../../lib/text.ts'
import { exact } from '../../lib/time/time.ts'
import { type Action, confirm } from '../../ui/actions.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { columns, DataTable } from '../../ui/table/DataTable.tsx'
import { none, Time } from '../../ui/table/list-columns.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { Empty, Stale } from '../../ui/feedback/States.tsx'
import { StatusDot, type Tone } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { shortName } from '../../layout/extensions/extensions.ts'
import { madeFor } from './image-form.ts'
import { ImageResult } from './ImageResult.tsx'
import { imagesPerPage, imagesQuery } from './image-queries.ts'
import css from './PrepareImage.module.css'

const tokenWords: Readonly<
  Record<NonNullable<Image['token']>['status'], { tone: Tone; word: string }>
> = {
  usable: { tone: 'ok', word: 'usable' },
  used_up: { tone: 'idle', word: 'used up' },
  expired: { tone: 'off', word: 'expired' },
  revoked: { tone: 'off', word: 'revoked' },
}

const imageColumns = (use: (image: Image) => ReactNode) =>
  columns<Image>([
    {
      id: 'created_at',
      head: 'Prepared',
      width: 110,
      card: 'fact',
      cell: (i) => <Time at={i.created_at} />,
    },
    { id: 'made', head: 'Talos', card: 'name', width: 170, cell: madeFor },
    {
      id: 'extensions',
      head: 'Extensions',
      from: 'md',
      cell: (i) =>
        i.extensions.length === 0 ? (
          none
        ) : (
          <span title={i.extensions.map(shortName).join(', ')}>
            {i.extensions.map(shortName).join(', ')}
          </span>
        ),
    },
    {
      id: 'datacenter',
      head: 'Datacenter',
      width: 110,
      from: 'md',
      cell: (i) => i.datacenter?.code ?? none,
    },
    {
      id: 'token',
      head: 'Join token',
      width: { least: 130, most: 176 },
      card: 'state',
      cell: (i) =>
        i.token === null ? (
          <span className="t3">None</span>
        ) : (
          <StatusDot tone={tokenWords[i.token.status].tone} why={tokenWords[i.token.status].word}>
            {i.token.name}
          </StatusDot>
        ),
    },
    {
      id: 'factory',
      head: 'Image factory',
      width: 140,
      from: 'md',
      cell: (i) =>
        i.factory.registered_at === null ? (
          <StatusDot tone="danger" why={i.factory.reason}>
            Not confirmed
          </StatusDot>
        ) : (
          <StatusDot tone="ok">{i.factory.simulated ? 'Simulated' : 'Confirmed'}</StatusDot>
        ),
    },
    {
      id: 'schematic',
      head: 'Schematic',
      width: { least: 150, most: 222 },
      from: 'xl',
      cell: (i) => (
        <span className="mono fs12" title={i.schematic_id}>
          {truncate(i.schematic_id)}
        </span>
      ),
    },
    {
      id: 'by',
      head: 'By',
      from: 'xl',
      width: { least: 110, most: 190 },
      cell: (i) => i.created_by ?? none,
    },
    { id: 'use', head: 'Again', width: 108, from: 'sm', cell: use },
  ])

interface EarlierImagesProps {
  page: string | undefined
  onPage: (page: string | undefined) => void
  onUse: (image: Image) => void
}

/**
 * Earlier images: their properties, whether servers can still join with them, and a button to reuse
 * an image.
 */
export function EarlierImages({ page, onPage, onUse }: EarlierImagesProps) {
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery({
    ...imagesQuery(page),
    placeholderData: keepPreviousData,
  })
  const actions = useMemo(
    () =>
      (image: Image): Action[] => [
        { label: 'Use again', icon: 'edit', can: allowed(imageCreate), run: () => onUse(image) },
        {
          label: 'Remove',
          icon: 'trash',
          danger: true,
          can: allowed(imageRemove),
          run: () =>
            confirm({
              title: 'Remove this image?',
              label: 'Remove',
              text: `${madeFor(image)}, prepared ${exact(image.created_at)}. The image is removed from this list. Its links keep working, because the factory keeps the schematic, and its join token stays unchanged.`,
              danger: true,
              act: async () => {
                await call(imageRemove, { params: { id: image.id } })
                await invalidate(imageList)
                toast.success('The image was removed')
              },
            }),
        },
      ],
    [onUse],
  )
  const use = useCallback(
    (image: Image) => (
      <ActionButton
        label="Use again"
        size="small"
        can={allowed(imageCreate)}
        aria-label={`Use again: the image of ${exact(image.created_at)}`}
        run={() => onUse(image)}
      />
    ),
    [onUse],
  )
  const cols = useMemo(() => imageColumns(use), [use])
  const detailOf = (image: Image) => (
    <div className={css['earlier']}>
      <ImageResult image={image} />
    </div>
  )
  return (
    <section className={css['list']} aria-label="Earlier images">
      <h2 className="h2">
        Earlier images <span className="t3 num">{data === undefined ? '' : data.total}</span>
      </h2>
      <DataTable
        label="Earlier images"
        noun="image"
        rows={data?.items}
        columns={cols}
        rowKey={(i) => i.id}
        rowName={(i) => `the image of ${exact(i.created_at)}`}
        actions={actions}
        detail={detailOf}
        grows
        error={error}
        onRetry={() => void refetch()}
        notice={
          isRefetchError && (
            <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />
          )
        }
        empty={
          <Empty
            title="No images yet"
            text="Images that you generate above are kept here, so that you can use their settings again."
          />
        }
        onFirstPage={data !== undefined && data.total > 0 && (() => onPage(undefined))}
        foot={
          data &&
          data.total > imagesPerPage && (
            <Pager
              page={data.page}
              perPage={data.per_page}
              total={data.total}
              plural="images"
              onPage={(to) => onPage(to === 1 ? undefined : String(to))}
            />
          )
        }
      />
    </section>
  )
}
