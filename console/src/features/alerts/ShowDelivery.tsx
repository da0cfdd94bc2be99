import { useQuery } from '@tanstack/react-query'
import { deliveryGet, deliveryStates } from '#contract/alerts/deliveries.ts'
import { query } from '../../api/query.ts'
import { exact, duration } from '../../lib/time/time.ts'
import { ErrorState } from '../../ui/feedback/States.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import css from './Alerts.module.css'

/** A message, with each attempt to send it. */
export default function ShowDelivery({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(query(deliveryGet, { params: { id } }))
  return (
    <Dialog title={data?.subject ?? 'Message'} width="44rem">
      {data === undefined ? (
        error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : (
          <p className="t2">Loading…</p>
        )
      ) : (
        <div className="stack stack3">
          <p className="fs13 t2">
            {deliveryStates[data.state]} · {data.channel.name}
            {data.next_at !== null && ` · next attempt ${exact(data.next_at)}`}
            <br />
            <span className="mono">{data.id}</span>
          </p>
          <pre className={css['text']} tabIndex={0} aria-label="Message">
            {data.text}
          </pre>
          {data.recipients.length > 0 && (
            <ul className="stack stack1 fs13" aria-label="Recipients">
              {data.recipients.map((one) => (
                <li key={one.address}>
                  <strong>{one.address}</strong>: {deliveryStates[one.state]}
                  {one.status !== null && `, status ${one.status}`}
                  {one.next_at !== null && `, next attempt ${exact(one.next_at)}`}
                  {one.problem !== null && <p>{one.problem}</p>}
                </li>
              ))}
            </ul>
          )}
          {data.tries.length === 0 && <p className="fs13 t2">Not sent yet.</p>}
          <ol className="stack stack2 fs13">
            {data.tries.toReversed().map((one) => (
              <li key={one.number}>
                <strong>Attempt {one.number}</strong>, {exact(one.at)}, {duration(one.took_ms)}
                {one.status !== null && `, status ${one.status}`}
                {one.problem !== null && <p>{one.problem}</p>}
                {one.answer !== '' && (
                  <pre className={css['text']} tabIndex={0} aria-label={`Answer ${one.number}`}>
                    {one.answer}
                  </pre>
                )}
              </li>
            ))}
          </ol>
        </div>
      )}
    </Dialog>
  )
}
