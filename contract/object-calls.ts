import type * as z from 'zod/mini'
import type { ErrorCode } from './errors.ts'
import { type AnyList, listOperation } from './list.ts'
import { type Operation, operation } from './operation.ts'
import { byId } from './page.ts'

type Schema = z.core.$ZodType
interface Written<B extends Schema> {
  readonly summary: string
  readonly body: B
  readonly errors?: readonly ErrorCode[]
}

/**
 * The usual calls about one kind of object. Name, route and scope follow from the kind and the
 * path. For example, `subnetGet` is `GET /v1/subnets/{id}` with the scope `read`; `subnetCreate`,
 * `subnetUpdate` and `subnetRemove` need `write`.
 * @param object schema of the object in responses
 */
export function callsOf<S extends Schema>(
  kind: string,
  path: `/v1/${string}`,
  { read, write }: Record<'read' | 'write', Operation['scope']>,
  object: S,
) {
  const one = `${path}/{id}` as const
  return {
    list: <L extends AnyList>(list: L, summary: string) =>
      listOperation(list, object, { name: `${kind}List`, summary, path, scope: read }),
    /** A list whose rows lack what is large in the object. @param row schema of a row */
    listOf: <L extends AnyList, R extends Schema>(list: L, row: R, summary: string) =>
      listOperation(list, row, { name: `${kind}List`, summary, path, scope: read }),
    get: (summary: string) =>
      operation(`${kind}Get`, `GET ${one}`, read, { summary, params: byId, answer: object }),
    create: <B extends Schema>(declared: Written<B>) =>
      operation(`${kind}Create`, `POST ${path}`, write, {
        answer: object,
        status: 201,
        ...declared,
      }),
    update: <B extends Schema>(declared: Written<B>) =>
      operation(`${kind}Update`, `PATCH ${one}`, write, {
        params: byId,
        answer: object,
        ...declared,
      }),
    remove: (summary: string, errors: readonly ErrorCode[]) =>
      operation(`${kind}Remove`, `DELETE ${one}`, write, { summary, params: byId, errors }),
  }
}
