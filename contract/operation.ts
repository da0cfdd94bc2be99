import * as z from 'zod/mini'
import type { ErrorCode } from './errors.ts'
import type { Scope } from './permissions.ts'
import './sentences.ts'

type Schema = z.core.$ZodType

/**
 * One call of the API, declared once: the backend routes and checks it, the console and the CLI
 * call it, the OpenAPI document describes it, and the scope matrix in the backend's tests tries it
 * with every role.
 */
export interface Operation<
  Params extends Schema = Schema,
  Query extends Schema = Schema,
  Body extends Schema = Schema,
  Answer extends Schema = Schema,
> {
  /**
   * Noun and verb, unique. Also the console's query key and, if the call starts an operation, the
   * operation's kind.
   */
  readonly name: string
  /** One sentence for the API documentation. */
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Parameters in braces, as in the OpenAPI document. */
  readonly path: `/v1/${string}`
  /**
   * Permission that the caller's token must hold; `signed_in` for any signed-in user; null for the
   * few calls that need no session.
   */
  readonly scope: Scope | 'signed_in' | null
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly answer: Answer
  /**
   * Media type of the response. Anything but JSON is sent as text (a file to download) or as a
   * stream, and `answer` is a string.
   */
  readonly media:
    | 'application/json'
    | 'application/yaml'
    | 'text/plain'
    | 'text/csv'
    | 'text/event-stream'
    | 'application/x-ndjson'
    | 'application/octet-stream'
  /**
   * Status of success. By default 204 without a body, 202 if the response is an operation that was
   * started, otherwise 200.
   */
  readonly status: 200 | 201 | 202 | 204
  /**
   * Whether the response is stored if the request has an Idempotency-Key. Set for calls whose
   * repetition would act twice or be refused: those that create (201), start (202) or remove
   * something (DELETE), and those that set it explicitly.
   */
  readonly kept: boolean
  /**
   * The call is about the session itself, or makes a credential, so an API token may not make it.
   */
  readonly session?: true
  /**
   * The caller's last proof of identity must not be older than `proofMinutes`; else 409
   * `proof_needed`. API tokens are exempt.
   */
  readonly proof?: true
  /** The call reads a whole file of a store before it answers, which takes as long as it takes. */
  readonly readsFile?: true
  /**
   * Descriptions of query parameters for the documentation, if their meaning is specific to this
   * call.
   */
  readonly meanings?: Readonly<Record<string, string>>
  /**
   * Error codes in addition to those of every call (400, 401, 403, 422, 429, 503), and to 404 for
   * an object in the path.
   */
  readonly errors: readonly ErrorCode[]
}

/**
 * Words for the API documentation, which stand beside the schemas and calls that they describe.
 * Only `all.ts` reads them, so that no bundle of the console or the CLI contains them.
 */
export interface Words {
  /** Schemas that calls share: written once in the document, under this name. */
  readonly objects?: Readonly<Record<string, readonly [schema: Schema, description: string]>>
  /**
   * Description of a parameter or body field by its name, which means the same in the whole API; by
   * `call.name` if the meaning differs in one call.
   */
  readonly fields?: Readonly<Record<string, string>>
  /** An example body for each call, valid if the objects with its ids exist. */
  readonly bodies?: Readonly<Record<string, unknown>>
}

/**
 * How long a client waits for a response, and for each further part of it, in ms. It is longer than
 * the time in which the backend gives up by itself, so that users get the backend's reason and not a
 * time-out: a plan takes its turn and its time, up to three times; a store is tested twice.
 */
export const answerWithinMs = ({
  method,
  scope,
  readsFile,
}: Pick<Operation, 'method' | 'scope' | 'readsFile'>): number => {
  if (readsFile) return 3_600_000
  // Sign-ins ask no machine and no store.
  if (scope === null) return 30_000
  return method === 'GET' ? 90_000 : 180_000
}

/** The input of a handler: already parsed, so it conforms to the schemas. */
export interface Input<O extends Operation> {
  params: z.output<O['params']>
  query: z.output<O['query']>
  body: z.output<O['body']>
}

/** The input of a caller: not parsed yet, so fields with defaults may be left out. */
export interface Asked<O extends Operation> {
  params: z.input<O['params']>
  query: z.input<O['query']>
  body: z.input<O['body']>
}

export type Answer<O extends Operation> = z.output<O['answer']>

type Route = `${Operation['method']} ${Operation['path']}`
type ParamsIn<R extends string> = R extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsIn<Rest>
  : never
/** The default schema of path parameters: each is an id. */
type Ids<R extends string> = { [K in ParamsIn<R>]: z.ZodMiniUUID }
const idsIn = <R extends Route>(route: R) =>
  z.strictObject(
    Object.fromEntries(
      [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, z.uuid()]),
    ) as Ids<R>,
  )

/** The schema of calls without a query: any parameter is refused. */
const none = z.strictObject({})
type None = typeof none
const noBody = z.undefined()
type NoBody = typeof noBody

interface Declared<P extends Schema, Q extends Schema, B extends Schema, A extends Schema>
  extends
    Pick<Operation, 'summary'>,
    Partial<
      Pick<Operation, 'status' | 'errors' | 'media' | 'kept' | 'session' | 'proof' | 'readsFile'>
    > {
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly answer?: A
}

/** Whether the response is an object with the field. */
export const answersWith = (field: string, answer: Schema): boolean =>
  field in ((answer as { shape?: object }).shape ?? {})

/** What is read may name an operation, and starts none. */
function statusOf(method: string, answer: Schema | undefined): Operation['status'] {
  if (!answer) return 204
  return method !== 'GET' && answersWith('operation', answer) ? 202 : 200
}

/** Declares a call. `route`: method and path, such as `GET /v1/clusters/{id}`. */
export function operation<
  const R extends Route,
  P extends Schema = z.ZodMiniObject<Ids<R>, z.core.$strict>,
  Q extends Schema = None,
  B extends Schema = NoBody,
  A extends Schema = NoBody,
>(
  name: string,
  route: R,
  scope: Operation['scope'],
  declared: Declared<P, Q, B, A>,
): Operation<P, Q, B, A> {
  const [method, path] = route.split(' ') as [Operation['method'], Operation['path']]
  const defaults = {
    params: idsIn(route),
    query: none,
    body: noBody,
    answer: noBody,
    media: 'application/json',
    errors: [],
  } as const
  const { status = statusOf(method, declared.answer) } = declared
  const kept = scope !== null && (status === 201 || status === 202 || method === 'DELETE')
  return { ...defaults, name, scope, status, kept, ...declared, method, path } as Operation<
    P,
    Q,
    B,
    A
  >
}

/** The same call, for which the caller's last proof of identity must be recent. */
export const withProof = <O extends Operation>(declared: O): O => ({ ...declared, proof: true })

/**
 * Declares another response of a call, which the call gives if its query has the parameters in
 * `query`. It is called like an operation, with the same name, method and path, but isn't an
 * operation of its own.
 */
export const variantOf = <
  P extends Schema,
  Q extends z.ZodMiniObject,
  const V extends z.core.$ZodLooseShape,
  A extends Schema,
>(
  of: Operation<P, Q>,
  { query, answer }: { query: V; answer: A },
): Operation<P, z.ZodMiniObject<Omit<Q['shape'], keyof V> & V, z.core.$strict>, NoBody, A> & {
  readonly variantOf: string
} => ({
  ...of,
  query: z.strictObject({ ...of.query.shape, ...query }),
  body: noBody,
  answer,
  variantOf: of.name,
})

const isRead = ({ method }: Pick<Operation, 'method'>): boolean => method === 'GET'
/** Whether the call takes a body. */
export const takesBody = (operation: Operation): boolean =>
  !z.safeParse(operation.body, undefined).success

/**
 * Whether a session without a second factor may make the call although the user's role requires
 * one: only calls about the user's own account, with which the user adds a second factor.
 */
export const mayLackSecondFactor = ({ path }: Pick<Operation, 'path'>): boolean =>
  /^\/v1\/session(?:\/|$)/.test(path)

/**
 * All error codes of a call: those of every call, those that follow from its session, its body and
 * the objects in its path, and its own `errors`.
 */
export function errorsOf(operation: Operation): ReadonlySet<ErrorCode> {
  const signedIn = operation.scope !== null
  return new Set<ErrorCode>([
    'bad_request',
    'unsupported_media',
    'too_large',
    'throttled',
    'internal',
    'unavailable',
    ...(signedIn ? (['session_expired', 'forbidden'] as const) : []),
    ...(isRead(operation) ? [] : (['invalid'] as const)),
    ...(signedIn && !isRead(operation) ? (['conflict'] as const) : []),
    ...(operation.path.includes('{') ? (['not_found'] as const) : []),
    ...(operation.kept ? (['idempotency_running', 'idempotency_mismatch'] as const) : []),
    ...(operation.proof ? (['proof_needed'] as const) : []),
    ...(signedIn && !mayLackSecondFactor(operation) ? (['second_factor_required'] as const) : []),
    ...operation.errors,
  ])
}
