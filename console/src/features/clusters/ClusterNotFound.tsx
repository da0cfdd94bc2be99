import { paths } from '../../lib/paths.ts'
import { NotFound } from '../../ui/feedback/PageStates.tsx'

/** Shown instead of a page of a cluster that doesn't exist. `title`: the API's error. */
export const ClusterNotFound = ({ title }: { title: string }) => (
  <NotFound
    noun="Cluster"
    title={title}
    text="It was deleted or forgotten, or it never existed."
    back={{ label: 'All clusters', to: paths.clusters() }}
  />
)
