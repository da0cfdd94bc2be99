/** Spans of calls to services: the Kubernetes API of a cluster, a store, a channel. */
import { type Attributes, kindOf, type Tracing } from './tracing.ts'

interface Request {
  /** What is called, and how: `kubernetes GET`. Never a path, which may name objects of users. */
  readonly name: string
  readonly host: string
  readonly port: number
  /** The HTTP method; undefined for other protocols. */
  readonly method?: string
}

/** The status of the answer, if one came, and whether the call failed. */
interface Answered {
  readonly status: number | null
  readonly failed: boolean
}

export const ofHttp = (status: number): Answered => ({ status, failed: status >= 400 })

/** Makes a call in a span of its own, if the caller's trace is recorded. */
export async function tracedRequest<T>(
  tracing: Tracing | undefined,
  { name, host, port, method }: Request,
  act: () => Promise<T>,
  answered: (answer: T) => Answered,
): Promise<T> {
  const attributes: Attributes = {
    'server.address': host,
    'server.port': port,
    ...(method !== undefined && { 'http.request.method': method }),
  }
  const span = tracing?.child(name, { kind: 'client', attributes })
  if (!span) return act()
  try {
    const answer = await span.within(act)
    const { status, failed } = answered(answer)
    if (status !== null)
      span.set({
        [method === undefined ? 'steelyard.status' : 'http.response.status_code']: status,
      })
    span.end(failed ? (status === null ? 'unanswered' : `status ${status}`) : undefined)
    return answer
  } catch (error) {
    span.end(kindOf(error))
    throw error
  }
}
