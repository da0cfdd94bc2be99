import { everyDatacenter } from '../api/every.ts'
import type { Load, PageProps } from '../api/page.ts'
import { CreateCluster, versionsQuery } from '../features/clusters/create/CreateCluster.tsx'
import { part } from '../ui/part.tsx'

const PatchWriter = part(() => import('../features/patches/PatchWriter.tsx'))
const writeBody: Parameters<typeof CreateCluster>[0]['writeBody'] = (asked) => (
  <PatchWriter {...asked} />
)

export const load: Load<'/infra/clusters/create'> = ({ client }) =>
  Promise.all([client.ensureQueryData(everyDatacenter), client.ensureQueryData(versionsQuery)])

export function Page({ search, setSearch }: PageProps<'/infra/clusters/create'>) {
  return <CreateCluster search={search} setSearch={setSearch} writeBody={writeBody} />
}
