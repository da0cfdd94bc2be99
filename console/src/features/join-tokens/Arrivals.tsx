import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { JoinToken } from '#contract/join-tokens.ts'
import { paths } from '../../lib/paths.ts'
import { truncate } from '../../lib/text.ts'
import { exact, moment } from '../../lib/time.ts'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { ErrorState, SkeletonRows } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import css from './JoinTokens.module.css'
import { arrivalsPerPage, arrivalsQuery } from './token-queries.ts'
import { arrivalResults } from './token-state.ts'

/** Poll interval of an open token row, in ms. Refusals make no event, or strangers could make every open console fetch. */
const refusalsMs = 5_000

/** Announcements with a join token, newest first, with their result. */
export function Arrivals({ token }: { token: JoinToken }) {
  const [page, setPage] = useState(1)
  const { data, error, refetch } = useQuery({ ...arrivalsQuery(token.id, page), placeholderData: keepPreviousData, refetchInterval: refusalsMs })
  if (data === undefined) return error === null ? <SkeletonRows rows={3} /> : <ErrorState error={error} onRetry={() => void refetch()} />
  if (data.total === 0)
    return (
      <div className={css['arrivals']}>
        <p className={css['nothing']}>
          Nothing has announced itself with this token. A server that boots an image prepared with it appears here within seconds.
        </p>
      </div>
    )
  return (
    <div className={css['arrivals']}>
      <div className={css['scroll']}>
        <table className={css['tbl']} aria-label={`What came through ${token.name}`}>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Result</th>
              <th scope="col">Server</th>
              <th scope="col">Address</th>
              <th scope="col">UUID</th>
              <th scope="col">Serial</th>
              <th scope="col" className={css['wide']}>
                MAC
              </th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((a) => (
              <tr key={a.id}>
                <td>
                  <time className="num" dateTime={a.at} title={exact(a.at)}>
                    {moment(a.at)}
                  </time>
                </td>
                <td className={a.reason === null ? undefined : css['reason']}>
                  <StatusDot tone={arrivalResults[a.result].tone}>{arrivalResults[a.result].word}</StatusDot>
                  {a.reason !== null && <div className="fs12 t3">{a.reason}</div>}
                </td>
                <td data-label="Server">{a.server === null ? <span className="t3">None</span> : <a href={paths.server(a.server.id)}>{a.server.name}</a>}</td>
                <td data-label="Address">
                  <Copyable value={a.address} what="address" />
                </td>
                <td data-label="UUID">
                  <Copyable value={a.uuid} what="UUID" shown={truncate(a.uuid, 8, 6)} />
                </td>
                <td data-label="Serial">{a.serial === '' ? <span className="t3">Unknown</span> : <Copyable value={a.serial} what="serial" />}</td>
                <td className={css['wide']}>{a.mac === null ? <span className="t3">Unknown</span> : <span className="mono">{a.mac}</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {data.total > arrivalsPerPage && <Pager page={page} perPage={arrivalsPerPage} total={data.total} plural="machines" onPage={setPage} />}
    </div>
  )
}
