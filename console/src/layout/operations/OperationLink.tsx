import { useQuery } from '@tanstack/react-query'
import { operationTitle } from '#contract/operations.ts'
import { paths } from '../../lib/paths.ts'
import { operationOne } from './operation-queries.ts'

/** Link to an operation, by its title as soon as that is known. */
export function OperationLink({ id }: { id: string }) {
  const { data } = useQuery(operationOne(id))
  return <a href={paths.operation(id)}>{data === undefined ? 'Running' : operationTitle(data)}</a>
}
