import { installationGet } from '#contract/users.ts'
import { callOpen } from './client.ts'

/** What everybody who looks at this installation may know: its version, whether its servers are simulated, and where its waitlist is. */
export const installation = () => ({
  queryKey: [installationGet.name],
  queryFn: ({ signal }: { signal: AbortSignal }) => callOpen(installationGet, {}, signal),
  staleTime: Number.POSITIVE_INFINITY,
})
