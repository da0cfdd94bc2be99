import { KubernetesError } from '../../kubernetes/client.ts'

/**
 * Runs `act` with a signal that ends after `ms`, whatever single answers may take: a cluster that answers everything at the last moment is one that does not
 * answer. @throws KubernetesError at the end of that time
 */
export async function within<T>(signal: AbortSignal, ms: number, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(new KubernetesError(`it took longer than ${ms / 1000} s to answer everything`)), ms)
  try {
    return await act(AbortSignal.any([signal, end.signal]))
  } finally {
    clearTimeout(timer)
  }
}
