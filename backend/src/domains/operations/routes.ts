import type { FastifyInstance } from 'fastify'
import { operationCancel, operationGet, operationList, operationRetry, operationRetryDisks } from '#contract/operations.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Operations } from './operations.ts'

export function operationRoutes(app: FastifyInstance, operations: Operations): void {
  const on = serve(app)
  on(operationList, ({ caller, query }) => operations.list(signedIn(caller), query))
  on(operationGet, ({ caller, params }) => operations.get(signedIn(caller), params.id))
  on(operationCancel, ({ caller, params }) => operations.cancel(signedIn(caller), params.id))
  on(operationRetry, ({ caller, params, body }) => operations.retry(signedIn(caller), params.id, body.confirmed_disks))
  on(operationRetryDisks, ({ caller, params }) => operations.retryDisks(signedIn(caller), params.id))
}
