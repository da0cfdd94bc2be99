import type { Load, PageProps } from '../api/page.ts'
import { OperationPage } from '../features/operations/OperationPage.tsx'
import { operationOne } from '../layout/operations/operation-queries.ts'

// Awaited, but never throws: the page itself shows why its data is missing.
export const load: Load<'/operations/$id'> = ({ params, client }) =>
  client.prefetchQuery(operationOne(params.id))

export function Page({ params: { id } }: PageProps<'/operations/$id'>) {
  return <OperationPage key={id} id={id} />
}
